// The program on a tier that answers few reads a second, and on one that as good as hangs: real files, a real block
// device, the kernel's own limit. No test asks how long anything took: what a limit of one read a second holds up would
// outlast the whole suite.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "loaders/engine/engine.h"
#include "tests/cli/program.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using Json = nlohmann::json;
using test::Ended;

constexpr unsigned kFiles = 200;
// No whole number of pages: a filesystem as small as this one has blocks of 1 KiB, and the rest of a page is not read
// from the device, which must not make a cold run look warm.
constexpr std::size_t kFileBytes = 9000;

class Throttled : public testing::Test {
protected:
    // Brings up a tier of so many reads a second, with a dataset on it. Skips where that cannot be.
    void bring_up(unsigned reads_per_second) {
        if (::geteuid() != 0) GTEST_SKIP() << "only root can limit a device";
        const Ended up =
            test::run_command({FEEDLINE_TIER_THROTTLE, "up", tier_, "64M", std::to_string(reads_per_second)});
        if (up.exit_code != 0) GTEST_SKIP() << "no throttled tier here: " << up.err;
        // Whoever does not go through `run` is not limited.
        for (unsigned i = 0; i < kFiles; ++i) {
            test::write_file(data_ + "/" + std::string(1, static_cast<char>('a' + i % 4)) + "/" + std::to_string(i),
                             test::pattern(kFileBytes, i));
        }
        ::sync();
    }
    void TearDown() override {
        test::run_command({FEEDLINE_TIER_THROTTLE, "down", tier_});
        EXPECT_FALSE(std::filesystem::exists(tier_)) << "the tier is still up";
    }

    std::vector<std::string> launcher() const { return {FEEDLINE_TIER_THROTTLE, "run", tier_}; }
    std::vector<std::string> bench(std::vector<std::string> more) const {
        std::vector<std::string> arguments{"bench", data_, "--cache", "cold", "--json", json_};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    Json result() const { return Json::parse(test::read_file(json_)).at("results").at(0); }

    test::TempDir dir_;
    std::string tier_ = dir_ / "tier";
    std::string data_ = tier_ + "/mnt/data";
    std::string json_ = dir_ / "result.json";
};

TEST_F(Throttled, ASlowTierIsFoundColdSlowAndToBlame) {
    constexpr unsigned kReadsPerSecond = 50;
    bring_up(kReadsPerSecond);
    if (IsSkipped()) return;
    const Ended ended = test::run_program(bench({"--batch-size", "10", "--step-time", "1ms", "--require",
                                                 "idle.fraction>=50%", "--require", "bottleneck==storage"}),
                                          {.launcher = launcher()});
    ASSERT_EQ(ended.exit_code, 0) << ended.err << ended.out;
    const Json epoch = result().at("epochs").at(0);
    EXPECT_EQ(epoch.at("cache").at("verdict"), "cold") << epoch.at("cache");
    EXPECT_EQ(epoch.at("samples"), kFiles);
    EXPECT_EQ(epoch.at("samples_delivered_once"), true);
    // A machine that is busy makes it slower and never faster; the kernel grants a burst at the beginning.
    EXPECT_LT(epoch.at("samples_per_second").get<double>(), 2.0 * kReadsPerSecond);
    EXPECT_GE(result().at("requests").at("device_reads_per_sample").get<double>(), 0.9);
    EXPECT_EQ(result().at("dataset").at("tier_kind"), "loop");
    // What waits is a read, and not the look-up or the copy.
    const Json& causes = epoch.at("idle").at("by_cause");
    EXPECT_GT(causes.at("read").get<double>(), 0.5 * epoch.at("idle").at("seconds").get<double>()) << causes;
}

TEST_F(Throttled, AReadThatHangsEndsTheRunByItsTimeLimitWithTheFilesName) {
    bring_up(1);
    if (IsSkipped()) return;
    for (const EngineKind kind : available_engines()) {
        const std::string engine(to_string(kind));
        const Ended ended =
            test::run_program(bench({"--engine", engine, "--io-timeout", "100ms"}), {.launcher = launcher()});
        EXPECT_EQ(ended.exit_code, 5) << engine << ended.err;
        EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << engine << ended.err;
        EXPECT_NE(ended.err.find("has not come back for 100 ms: " + data_), std::string::npos) << engine << ended.err;
        EXPECT_EQ(result().at("status"), "failed") << engine;
    }
}

TEST_F(Throttled, AnInterruptDoesNotWaitForReadsThatHang) {
    bring_up(1);
    if (IsSkipped()) return;
    for (const EngineKind kind : available_engines()) {
        const std::string engine(to_string(kind));
        test::TerminalProgram program(bench({"--engine", engine, "--batch-size", "100"}), "xterm", 200, launcher());
        ASSERT_TRUE(program.wait_for(": step 0")) << engine;
        program.send(SIGINT);
        const Ended ended = program.finish();
        EXPECT_EQ(ended.exit_code, 130) << engine << ended.out;
        EXPECT_EQ(result().at("status"), "partial") << engine;
        std::filesystem::remove(json_);
    }
}

TEST_F(Throttled, ATimeLimitDoesNotWaitForReadsThatHangEither) {
    bring_up(1);
    if (IsSkipped()) return;
    // At one read a second a hundred reads in flight are a hundred seconds.
    const Ended ended =
        test::run_program(bench({"--batch-size", "100", "--duration", "200ms"}), {.launcher = launcher()});
    EXPECT_EQ(ended.exit_code, 4) << ended.err;
    EXPECT_EQ(result().at("status"), "failed");
}

}  // namespace
}  // namespace feedline
