#include "bench/bottleneck.h"

#include <gtest/gtest.h>

#include "tests/bench/hand_made.h"

namespace feedline {
namespace {

// Idle 25 % unless changed.
Result with(double null_utilization, double warm_utilization) {
    Result result = test::hand_made_result();
    result.controls.null_storage->utilization = null_utilization;
    result.controls.warm->utilization = warm_utilization;
    return result;
}

TEST(Bottleneck, FollowsTheRuleInItsOrder) {
    Result result = with(0.999, 0.99);
    EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    result = with(0.999, 0.87);  // warm idle 13 %: more than half of 25 %
    EXPECT_EQ(find_bottleneck(result), Bottleneck::cpu);
    result = with(0.87, 0.99);
    EXPECT_EQ(find_bottleneck(result), Bottleneck::harness);
    result = with(0.88, 0.99);  // 12 %: less than half
    EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    result = with(0.999, 0.99);
    result.rounds[0][0].idle.by_cause[Cause::h2d] = 5e9;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::h2d);
    result = with(0.5, 0.5);
    result.rounds[0][0].idle.fraction = 0.0199;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::accelerator);
}

TEST(Bottleneck, AtStepTimeZeroRatesDecide) {
    Result result = test::hand_made_result();  // 100 samples/s
    result.step_seconds = 0;
    result.rounds[0][0].idle.fraction = 1;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    result.controls.warm->samples_per_second = 109;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::cpu);
    result.controls.warm->samples_per_second = 111;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    result.controls.null_storage->samples_per_second = 109;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::harness);
}

TEST(Bottleneck, WithoutTheDecidingControlItIsUnknown) {
    Result result = test::hand_made_result();
    result.controls = {};
    EXPECT_EQ(find_bottleneck(result), Bottleneck::unknown);
    result.rounds[0][0].idle.fraction = 0.01;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::accelerator);
    result.rounds = {{}};
    EXPECT_EQ(find_bottleneck(result), Bottleneck::unknown);
}

TEST(Explain, NamesTheBottleneckItsFigureAndWhatToTry) {
    const struct {
        Bottleneck bottleneck;
        const char* says;
        const char* figure;
        const char* next;
    } cases[] = {
        {Bottleneck::storage, "Storage is the limit", "idle 25.0 % here, idle 1.0 % from memory", "1.02 device reads"},
        {Bottleneck::cpu, "The CPU is the limit", "idle 25.0 %", "--threads"},
        {Bottleneck::h2d, "The copy to the accelerator is the limit", "4.0 % of the idle time", "smaller batch"},
        {Bottleneck::harness, "The measuring program is the limit", "idle 0.1 %", "lower bound"},
        {Bottleneck::accelerator, "The accelerator is the limit", "idle 25.0 %", "Nothing to do"},
        {Bottleneck::unknown, "The accelerator is idle 25.0 %", "most of it in read", "--controls"},
    };
    for (const auto& [bottleneck, says, figure, next] : cases) {
        Result result = test::hand_made_result();
        result.bottleneck = bottleneck;
        const std::string text = explain(result);
        for (const char* part : {says, figure, next}) EXPECT_NE(text.find(part), std::string::npos) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos);
    }
}

TEST(Explain, ATierThatFeedsMoreSaysHowMany) {
    Result result = test::hand_made_result();
    result.bottleneck = Bottleneck::accelerator;
    result.accelerators_sustained = 3.4;
    EXPECT_NE(explain(result).find("--accelerators 3"), std::string::npos) << explain(result);
}

TEST(Explain, LargeRecordsAskForDepthAndNotForPacking) {
    Result result = test::hand_made_result();
    result.rounds[0][0].bytes = 146'600'628'000;
    EXPECT_NE(explain(result).find("--queue-depth (now 64)"), std::string::npos) << explain(result);
}

TEST(Explain, NothingMeasuredSaysSo) {
    Result result = test::hand_made_result();
    result.rounds.clear();
    EXPECT_EQ(explain(result), "Nothing was measured.");
}

}  // namespace
}  // namespace feedline
