// What a run says is the limit, end to end: from real small files to the sentence. What would depend on how fast the
// machine is, is left to the tests over constructed results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using Json = nlohmann::json;
using test::Ended;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr unsigned kFiles = 90;

// The seed changes contents and order of the sizes.
void make_dataset(const std::string& path, unsigned seed = 0) {
    for (unsigned i = 0; i < kFiles; ++i) {
        test::write_file(path + "/class/" + std::to_string(100 + i),
                         test::pattern(1000 + (i + seed) % kFiles * 100, i + seed));
    }
}

class Verdict : public testing::Test {
protected:
    Verdict() { make_dataset(data_); }

    Ended bench(std::vector<std::string> more) const {
        std::vector<std::string> arguments{"bench", data_, "--json", json_};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_program(arguments);
    }
    Json result(std::size_t number = 0) const { return Json::parse(test::read_file(json_)).at("results").at(number); }

    test::TempDir dir_;
    std::string data_ = dir_ / "data";
    std::string json_ = dir_ / "result.json";
};

// As a person reads it, whatever the line breaks.
std::string flowing(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const char shown = c == '\n' || c == '\r' ? ' ' : c;
        if (shown != ' ' || out.empty() || out.back() != ' ') out += shown;
    }
    return out;
}

TEST_F(Verdict, AnIdleFirstFillIsNotTheStorage) {
    // The first copy takes 200 ms, all others hide behind the steps.
    const Ended ended =
        bench({"--no-controls", "--batch-size", "15", "--step-time", "300ms", "--h2d-latency", "200ms"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_GT(result().at("epochs").at(0).at("idle").at("fraction").get<double>(), 0.02);
    EXPECT_EQ(result().at("bottleneck"), "accelerator");
    EXPECT_THAT(flowing(ended.out), HasSubstr("Only the first fill was idle: 2"));
}

TEST_F(Verdict, AnUnevenLastRoundIsNamed) {
    const Ended ended = bench({"--no-controls", "--accelerators", "3", "--batch-size", "25", "--step-time", "300ms"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(result().at("bottleneck"), "accelerator");
    EXPECT_GT(result().at("epochs").at(0).at("idle").at("end_wait_seconds").get<double>(), 0.19);
    EXPECT_THAT(flowing(ended.out),
                HasSubstr("the last round gave 1 of 3 accelerators a batch; use --steps a multiple"));
}

TEST_F(Verdict, ASlowLinkIsTheCopyAndNotTheHarness) {
    for (const char* step : {"0", "500us"}) {
        const Ended ended = bench({"--batch-size", "8", "--step-time", step, "--h2d-rate", "5MB/s"});
        ASSERT_EQ(ended.exit_code, 0) << ended.err;
        EXPECT_EQ(result().at("bottleneck"), "h2d") << ended.out;
        const Json h2d = result().at("controls").at("h2d");
        EXPECT_THAT(h2d.at("note").get<std::string>(), HasSubstr("computed"));
        // 90 files of 1,000 to 9,900 bytes: 5,450 on average.
        EXPECT_NEAR(h2d.at("samples_per_second").get<double>(), 5e6 / 5450, 50);
    }
}

TEST_F(Verdict, FromMemoryItIsNeverTheStorage) {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
    const test::TempDir memory("/dev/shm");
    make_dataset(memory / "data");
    for (const char* cache : {"as-is", "warm"}) {
        for (const char* step : {"0", "100us"}) {
            const Ended ended = run_program({"bench", memory / "data", "--batch-size", "8", "--cache", cache,
                                             "--step-time", step, "--json", json_});
            ASSERT_EQ(ended.exit_code, 0) << ended.err;
            EXPECT_NE(result().at("bottleneck"), "storage");
            EXPECT_THAT(flowing(ended.out),
                        AllOf(HasSubstr("This was memory, not the storage"), Not(HasSubstr("torage is the limit"))));
        }
    }
}

TEST_F(Verdict, ControlsAreAnnouncedWhereverTheOutputGoes) {
    const std::vector<std::string> short_run{"--batch-size", "8", "--step-time", "1ms"};
    const Ended ended = bench(short_run);
    ASSERT_EQ(ended.exit_code, 0);
    EXPECT_THAT(ended.err, AllOf(HasSubstr("controls"), HasSubstr(" s at most"), HasSubstr("--no-controls")));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    for (const char* silent : {"--quiet", "--no-controls"}) {
        std::vector<std::string> arguments = short_run;
        arguments.emplace_back(silent);
        EXPECT_EQ(bench(arguments).err, "") << silent;
    }
}

TEST_F(Verdict, AnInterruptDuringControlsLeavesTheEpochComplete) {
    test::TerminalProgram program({"bench", data_, "--batch-size", "30", "--step-time", "100ms", "--json", json_});
    ASSERT_TRUE(program.wait_for("its controls take"));
    program.send(SIGINT);
    const Ended ended = program.finish();
    EXPECT_EQ(ended.exit_code, 130) << ended.out;
    EXPECT_EQ(result().at("status"), "partial");
    EXPECT_EQ(result().at("epochs").at(0).at("partial"), false);
    EXPECT_EQ(result().at("epochs").at(0).at("samples"), kFiles);
    EXPECT_THAT(result().at("missing"), testing::Contains("controls.warm"));
    EXPECT_THAT(result().at("missing"), Not(testing::Contains("epochs")));
    EXPECT_THAT(flowing(ended.out),
                AllOf(HasSubstr("controls interrupted: the measured epoch is complete"), Not(HasSubstr("partial"))));
}

TEST_F(Verdict, AnInterruptSaysWhatWasNotMeasuredAtAll) {
    const std::string other = dir_ / "other";
    make_dataset(other);
    test::TerminalProgram program(
        {"bench", data_, other, "--batch-size", "1", "--step-time", "300ms", "--json", json_});
    ASSERT_TRUE(program.wait_for("step 2"));
    program.send(SIGINT);
    EXPECT_EQ(program.finish().exit_code, 130);
    EXPECT_THAT(result().at("missing"), AllOf(testing::Contains("epochs"), testing::Contains("controls.null_storage")));
    const Json skipped = Json::parse(test::read_file(json_)).at("skipped");
    ASSERT_EQ(skipped.size(), 1U);
    EXPECT_THAT(skipped.at(0).at("name").get<std::string>(), testing::StartsWith("other/"));
    EXPECT_THAT(skipped.at(0).at("reason").get<std::string>(), HasSubstr("interrupted"));
}

TEST_F(Verdict, TheHarnessIsMeasuredOnceForEqualInputs) {
    const std::string same = dir_ / "same";
    const std::string different = dir_ / "different";
    make_dataset(same);
    make_dataset(different, 7);
    const Ended ended = bench({same, different, "--engine", "pread,mmap", "--batch-size", "8", "--step-time", "1ms"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < 6; ++i) {
        const Json control = result(i).at("controls").at("null_storage");
        EXPECT_GT(control.at("samples_per_second").get<double>(), 0);
        EXPECT_GT(control.at("utilization").get<double>(), 0);
        notes.push_back(control.value("note", ""));
    }
    const auto taken = [](const std::string& name) { return HasSubstr("as measured for " + name); };
    EXPECT_THAT(notes,
                testing::ElementsAre(Not(taken("")), taken("data/files/pread/"), taken("data/files/pread/"),
                                     taken("data/files/pread/"), Not(taken("")), taken("different/files/pread/")));
}

}  // namespace
}  // namespace feedline
