// What `feedline bench` says of a run beside its figures, end to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/bench_fixture.h"

namespace feedline {
namespace {

using Json = nlohmann::json;
using test::Bench;
using test::Ended;
using test::results_in;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Json result_of(const Json& results, std::string_view engine) {
    for (const Json& result : results) {
        if (result.at("config").at("engine") == engine) return result;
    }
    return nullptr;
}

TEST_F(Bench, WhatIsReadPastTheCacheIsColdWhateverLiesInIt) {
    const Ended ended =
        run_program({"bench", data_, "--no-controls", "--engine", "pread,uring-direct", "--json", json_});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const Json results = results_in(json_);
    const Json direct = result_of(results, "uring-direct");
    if (direct.is_null()) GTEST_SKIP() << "no O_DIRECT, or no io_uring";
    const Json buffered = result_of(results, "pread").at("epochs").at(0).at("cache");
    const Json past = direct.at("epochs").at(0).at("cache");
    if (past.at("verdict") == "unknown" || buffered.at("verdict") != "warm" ||
        direct.at("dataset").at("tier_kind") == "ram") {
        GTEST_SKIP() << "TMPDIR is not on a disk with a page cache that can be seen";
    }
    EXPECT_GE(past.at("resident_before").get<double>(), 0.99);
    EXPECT_EQ(past.at("verdict"), "cold") << past;
}

TEST_F(Bench, WhatWasAskedForAndNotReachedStandsInTableAndJson) {
    const Ended ended = bench({"--batch-size", "30", "--steps", "100", "--duration", "1h", "--require", "seconds<=1ns",
                               "--require", "samples>=1"});
    EXPECT_EQ(ended.exit_code, 1) << ended.err;
    const Json result = results_in(json_).at(0);
    EXPECT_THAT(result.at("notes").dump(),
                AllOf(HasSubstr("--steps 100: an epoch has only 3 steps"), HasSubstr("--duration 60 m 00 s")));
    ASSERT_EQ(result.at("missed_requirements").size(), 1U) << result.at("missed_requirements");
    const std::string missed = result.at("missed_requirements").at(0);
    EXPECT_THAT(missed, StartsWith("required seconds<=1ns, found "));
    EXPECT_THAT(ended.err, HasSubstr("feedline: " + missed));
    EXPECT_THAT(ended.out, AllOf(StartsWith("! required seconds<=1ns"), HasSubstr("note: --steps 100")));
}

TEST_F(Bench, WhatIsMissedIsSaidOnceInOnePlace) {
    const std::vector<std::string> arguments{"bench", data_, "--no-controls", "--require", "seconds<=1ns"};
    test::TerminalProgram program(arguments);
    const Ended ended = program.finish();
    EXPECT_EQ(ended.exit_code, 1);
    const std::size_t first = ended.out.find("required seconds<=1ns");
    ASSERT_NE(first, std::string::npos) << ended.out;
    EXPECT_EQ(ended.out.find("required seconds<=1ns", first + 1), std::string::npos) << ended.out;
}

TEST_F(Bench, ASweepOfAllEnginesNamesInItsReportWhatOneWouldHaveExpected) {
    const Ended all = bench({"--engine", "all"});
    ASSERT_EQ(all.exit_code, 0) << all.err;
    EXPECT_THAT(all.out, Not(HasSubstr("native")));
    EXPECT_THAT(Json::parse(test::read_file(json_)).at("skipped").dump(), HasSubstr("native"));
    const Ended named = bench({"--engine", "pread,native"});
    ASSERT_EQ(named.exit_code, 0) << named.err;
    EXPECT_THAT(named.out, HasSubstr("skipped: data/files/native/rate"));
}

}  // namespace
}  // namespace feedline
