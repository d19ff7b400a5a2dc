// The built program, suspended in the middle of a run.
#include <gtest/gtest.h>

#include "tests/cli/bench_fixture.h"

namespace feedline {
namespace {

using Json = nlohmann::json;

class Suspend : public test::Bench {
protected:
    // At so many of the dataset's reads the whole program stops for a second.
    test::Ended bench_stopped_at(unsigned read, const std::vector<std::string>& more) const {
        std::vector<std::string> arguments{"bench", data_,          "--engine", "pread",  "--threads",
                                           "2",     "--batch-size", "1",        "--json", json_};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return test::run_program(arguments, {.environment = {{"LD_PRELOAD", FEEDLINE_SUSPENDING_READS},
                                                             {"FEEDLINE_TEST_READS", std::to_string(read)}}});
    }
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Suspend, InTheMiddleOfARunIsSaidAndLeavesTheVerdictOpen) {
    for (const char* const step : {"0us", "1ms"}) {
        const test::Ended ended = bench_stopped_at(
            40, {"--step-time", step, "--require", "bottleneck==storage", "--require", "bottleneck==cpu"});
        EXPECT_NE(ended.exit_code, 0) << ended.err;
        EXPECT_NE(ended.out.find("his process did not run for"), std::string::npos) << ended.out;
        const Json result = test::results_in(json_).at(0);
        EXPECT_TRUE(result.at("bottleneck").is_null()) << step << ": " << result.at("bottleneck");
        EXPECT_GE(result.at("epochs").at(0).at("host_stall_seconds"), 0.5) << step;
        EXPECT_NE(result.at("notes").dump().find("suspended, or starved of CPU"), std::string::npos);
    }
}

// Read 90 is the epoch's last, and a control's first follows it.
TEST_F(Suspend, InAControlCostsItsFigureAlone) {
    const test::Ended ended = bench_stopped_at(test::kFiles + 20, {"--step-time", "1ms"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = test::results_in(json_).at(0);
    EXPECT_NE(result.at("controls").dump().find("did not run for"), std::string::npos) << result.at("controls");
}
#endif

}  // namespace
}  // namespace feedline
