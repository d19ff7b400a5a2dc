#include "bench/require.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/bench/hand_made.h"

namespace feedline {
namespace {

std::size_t misses(std::string_view text, const std::vector<Result>& results) {
    return missed(parse_requirement(text), results).size();
}

TEST(Require, ComparesWithEachOperator) {
    const std::vector<Result> results{test::hand_made_result()};
    for (const char* holds : {"idle.fraction<=0.25", "idle.fraction>=0.25", "idle.fraction==0.25", "idle.fraction<0.26",
                              "idle.fraction>0.24", " idle.fraction  <=  0.25 ", "samples_per_second>=100",
                              "controls.warm.utilization>=0.99", "requests.device_reads_per_sample<=1.02",
                              "cache.verdict==cold", "bottleneck==storage", "samples_delivered_once==true",
                              "accelerators_sustained>0.5", "latency_ns.read.p99<=1e7", "config.queue_depth==64"}) {
        EXPECT_EQ(misses(holds, results), 0U) << holds;
    }
    for (const char* fails : {"idle.fraction<=0.2", "idle.fraction>=0.3", "idle.fraction==0.2", "idle.fraction<0.25",
                              "idle.fraction>0.25", "cache.verdict==warm", "samples_delivered_once==false"}) {
        EXPECT_EQ(misses(fails, results), 1U) << fails;
    }
}

TEST(Require, MustHoldForEveryResultAndEveryEpoch) {
    Result result = test::hand_made_result();
    EpochResult slow = test::hand_made_epoch();
    slow.idle.fraction = 0.5;
    result.rounds = {{test::hand_made_epoch(), slow}, {slow, test::hand_made_epoch()}};
    Result other = test::hand_made_result();
    other.name = "tape/files/uring/custom";
    other.rounds = {{slow}};
    const std::vector<std::string> lines = missed(parse_requirement("idle.fraction<=0.3"), {result, other});
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0], "disk/files/uring/custom, round 1, epoch 2: idle.fraction is 0.5, off by 0.2, required <= 0.3");
    EXPECT_NE(lines[2].find("tape/files/uring/custom: "), std::string::npos);
}

TEST(Require, AFigureThatCouldNotBeSeenDoesNotHold) {
    Result result = test::hand_made_result();
    result.rounds[0][0].device_reads.reset();
    result.controls.warm.reset();
    EXPECT_EQ(misses("requests.device_reads_per_sample<=99", {result}), 1U);
    EXPECT_EQ(misses("controls.warm.utilization>=0", {result}), 1U);
    result.rounds = {{}};
    EXPECT_EQ(misses("idle.fraction<=1", {result}), 1U);
}

TEST(Require, NonsenseIsRefused) {
    for (const char* text : {"", "idle.fraction", "<=0.05", "idle.fraction<=", "idle.fraction<=x", "idle.fraction=0.05",
                             "idle<=1", "idle.fraction.x<=1", "nothing<=1", "cache.verdict<=1",
                             "cache.verdict==", "idle.fraction<=nan", "epochs<=1", "idle.fraction<=1<=2"}) {
        try {
            parse_requirement(text);
            ADD_FAILURE() << "accepted '" << text << "'";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_NE(std::string(error.what()).find("--require"), std::string::npos);
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace feedline
