// The built program on storage that stops answering.
#include <gtest/gtest.h>

#include "tests/cli/bench_fixture.h"

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

}  // namespace
}  // namespace feedline
