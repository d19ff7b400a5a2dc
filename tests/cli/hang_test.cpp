// The built program on storage that stops answering.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "loaders/engine/engine.h"
#include "tests/cli/bench_fixture.h"
#include "tests/testutil/held_mount.h"

namespace feedline {
namespace {

using Json = nlohmann::json;
using test::Ended;
using test::results_in;
using test::run_program;

class Hang : public test::Bench {
protected:
    // The files of the dataset are read one by one; from so many reads on none comes back.
    Ended bench_until(unsigned reads, const std::vector<std::string>& more) const {
        std::vector<std::string> arguments{"bench", data_,          "--engine", "pread",  "--threads",
                                           "2",     "--batch-size", "1",        "--json", json_};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_program(arguments, {.environment = {{"LD_PRELOAD", FEEDLINE_HANGING_READS},
                                                       {"FEEDLINE_TEST_READS", std::to_string(reads)}}});
    }
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Hang, InAControlDoesNotCostTheMeasurement) {
    const Ended ended = bench_until(test::kFiles, {"--step-time", "1ms"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = results_in(json_).at(0);
    EXPECT_EQ(result.at("status"), "ok");
    EXPECT_EQ(result.at("epochs").at(0).at("samples"), test::kFiles);
    EXPECT_NE(result.at("controls").at("null_storage").dump().find("a read has not come back"), std::string::npos);
    EXPECT_NE(result.at("missing").dump().find("controls.serial"), std::string::npos) << result.at("missing");
}

TEST_F(Hang, BehindATimeLimitIsSaidAndNamedWhereItCanBe) {
    const Ended ended = bench_until(40, {"--duration", "1s", "--no-controls"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = results_in(json_).at(0);
    EXPECT_GT(result.at("epochs").at(0).at("steps"), 0);
    EXPECT_NE(result.at("notes").dump().find("a read did not come back"), std::string::npos) << result.at("notes");
    const Ended none = bench_until(0, {"--duration", "1s", "--no-controls"});
    EXPECT_EQ(none.exit_code, 4) << none.err;
    EXPECT_NE(none.err.find("a read has not come back"), std::string::npos) << none.err;
}

TEST_F(Hang, BehindATimeLimitForLongerThanItMayIsAFailure) {
    const Ended ended = bench_until(40, {"--duration", "1s", "--io-timeout", "2s", "--no-controls"});
    EXPECT_EQ(ended.exit_code, 5) << ended.err;
    EXPECT_NE(ended.err.find("a read has not come back for 2.00 s: " + data_), std::string::npos) << ended.err;
    const Json result = results_in(json_).at(0);
    EXPECT_EQ(result.at("status"), "failed");
    EXPECT_GT(result.at("epochs").at(0).at("steps"), 0) << "what was measured is there";
}

TEST_F(Hang, LeavesNoReaderBehindThatTheNextEpochWouldMeet) {
    const Ended ended = bench_until(40, {"--duration", "1s", "--epochs", "3", "--no-controls"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = results_in(json_).at(0);
    EXPECT_EQ(result.at("epochs").size(), 1U);
    EXPECT_NE(result.at("missing").dump().find("epochs"), std::string::npos) << result.at("missing");
}
#endif

// A ring over a FUSE filesystem where one file gets no answer.
class HungMount : public testing::TestWithParam<test::HeldMount::What> {
protected:
    void SetUp() override {
        const auto engines = available_engines();
        if (std::find(engines.begin(), engines.end(), EngineKind::uring) == engines.end()) {
            GTEST_SKIP() << "no io_uring here";
        }
        if (const std::string why = test::HeldMount::refusal(); !why.empty()) GTEST_SKIP() << "no FUSE here: " << why;
    }
    // Four batches of files, the third of which cannot become whole.
    void mount_files() {
        std::vector<std::string> contents;
        for (unsigned file = 0; file < 40; ++file) contents.push_back(test::pattern(5000, file));
        mount_.emplace(data_.path(), std::move(contents), test::HeldMount::Held{GetParam(), 25});
    }
    std::vector<std::string> bench(const std::vector<std::string>& more) const {
        std::vector<std::string> arguments{"bench",         data_.path(), "--engine",     "uring",
                                           "--order",       "sequential", "--batch-size", "10",
                                           "--no-controls", "--json",     json_};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    void expect_named(unsigned file) {
        const Ended ended = run_program(bench({"--io-timeout", "500ms"}));
        EXPECT_EQ(ended.exit_code, 5);
        const std::string named = "a read has not come back for 500 ms: " + data_.path() + "/" +
                                  test::HeldMount::name(file) + " at offset 0. Check";
        EXPECT_NE(ended.err.find(named), std::string::npos) << ended.err;
    }

    test::TempDir data_;
    test::TempDir dir_;
    std::string json_ = dir_ / "result.json";
    std::optional<test::HeldMount> mount_;  // gone before its place
};
INSTANTIATE_TEST_SUITE_P(Of, HungMount, testing::Values(test::HeldMount::What::open, test::HeldMount::What::read),
                         [](const auto& instance) { return instance.index == 0 ? "Open" : "Read"; });

TEST_P(HungMount, IsSaidWithTheNameOfTheFileThatHangs) {
    mount_files();
    expect_named(25);
}

// Its reads cannot hang so: they are what indexing it takes.
class HungShard : public HungMount {};
INSTANTIATE_TEST_SUITE_P(Of, HungShard, testing::Values(test::HeldMount::What::open),
                         [](const auto&) { return "Open"; });

TEST_P(HungShard, IsNamedToo) {
    const std::string files = dir_ / "files";
    const std::string packed = dir_ / "packed";
    test::make_dataset(files);
    ASSERT_EQ(run_program({"pack", files, packed, "--format", "tfrecord", "--shards", "3", "--quiet"}).exit_code, 0);
    std::vector<std::string> shards;
    for (unsigned shard = 0; shard < 3; ++shard) {
        const std::string number = std::to_string(shard);
        shards.push_back(test::read_file(packed + "/files-0000" + number + "-of-00003.tfrecord"));
    }
    mount_.emplace(data_.path(), std::move(shards), test::HeldMount::Held{GetParam(), 1});
    expect_named(1);
}

TEST_P(HungMount, CostsNoneOfTheBatchesThatWereDelivered) {
    mount_files();
    test::TerminalProgram program(bench({}));
    ASSERT_TRUE(program.wait_for("step 2 of 4"));
    program.send(SIGINT);
    const Ended ended = program.finish();
    EXPECT_EQ(ended.exit_code, 130) << ended.out;
    const Json result = results_in(json_).at(0);
    EXPECT_EQ(result.at("status"), "partial");
    EXPECT_EQ(result.at("epochs").at(0).at("samples"), 20);
}

}  // namespace
}  // namespace feedline
