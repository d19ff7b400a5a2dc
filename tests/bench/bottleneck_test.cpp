#include "bench/bottleneck.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/bench/hand_made.h"

namespace feedline {
namespace {

// Steady idle 20 % unless changed.
Result with(double null_utilization, double warm_utilization) {
    Result result = test::hand_made_result();
    result.controls.null_storage->utilization = null_utilization;
    result.controls.warm->utilization = warm_utilization;
    return result;
}

EpochResult& epoch_of(Result& result) {
    return result.rounds[0][0];
}

Causes only(Cause cause) {
    Causes causes;
    causes[cause] = 1e9;
    return causes;
}

TEST(Bottleneck, FollowsTheRuleInItsOrder) {
    Result result = with(0.999, 0.99);
    EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    result = with(0.999, 0.89);  // warm idle 11 %: more than half of 20 %
    EXPECT_EQ(find_bottleneck(result), Bottleneck::cpu);
    result = with(0.89, 0.99);
    EXPECT_EQ(find_bottleneck(result), Bottleneck::harness);
    result = with(0.91, 0.99);  // 9 %: less than half
    EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    result = with(0.999, 0.99);
    epoch_of(result).idle.steady_by_cause[Cause::h2d] = 5e9;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::h2d);
    result = with(0.5, 0.5);
    test::set_steady_idle(epoch_of(result), 0.0199);
    EXPECT_EQ(find_bottleneck(result), Bottleneck::accelerator);
    test::set_steady_idle(epoch_of(result), 0.0201);
    EXPECT_EQ(find_bottleneck(result), Bottleneck::harness);
}

// Of idle time in which this process did not run nobody can tell whose it is; the accelerator was busy all the same.
TEST(Bottleneck, StaysOpenWhereTheProcessDidNotRun) {
    for (const double step_seconds : {0.5, 0.0}) {
        for (const double warm : {0.99, 0.81}) {
            Result result = with(0.999, warm);
            result.step_seconds = step_seconds;
            ASSERT_NE(find_bottleneck(result), Bottleneck::unknown);
            epoch_of(result).host_stall_seconds = 0.24;  // of 2.5 s idle: less than a tenth
            EXPECT_NE(find_bottleneck(result), Bottleneck::unknown);
            epoch_of(result).host_stall_seconds = 0.26;
            EXPECT_EQ(find_bottleneck(result), Bottleneck::unknown);
        }
    }
    Result result = with(0.999, 0.99);
    test::set_steady_idle(epoch_of(result), 0.01);
    epoch_of(result).host_stall_seconds = 5;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::accelerator);
}

// The controls' idle is a steady one: whatever the first fill took, the verdict is the same.
TEST(Bottleneck, TheFirstFillDecidesNothing) {
    for (const double fill_ns : {0.0, 0.75e9, 8e9, 300e9}) {
        for (const auto& [steady, warm, expected] :
             {std::tuple{0.001, 0.999, Bottleneck::accelerator}, std::tuple{0.03, 0.999, Bottleneck::storage},
              std::tuple{0.03, 0.98, Bottleneck::cpu}, std::tuple{0.5, 0.9, Bottleneck::storage}}) {
            Result result = with(0.999, warm);
            epoch_of(result).idle.first_fill_ns = fill_ns;
            test::set_steady_idle(epoch_of(result), steady);
            EXPECT_EQ(find_bottleneck(result), expected) << fill_ns << " ns, steady " << steady;
        }
    }
}

TEST(Bottleneck, AWaitAtTheEndDecidesNothingEither) {
    Result result = with(0.999, 0.999);
    epoch_of(result).idle.end_wait_ns = 5e9;
    test::set_steady_idle(epoch_of(result), 0.001);
    EXPECT_GT(epoch_of(result).idle.fraction, 0.3);
    EXPECT_EQ(find_bottleneck(result), Bottleneck::accelerator);
}

TEST(Bottleneck, WithoutAStepBehindTheWarmUpThereIsNothingToJudge) {
    Result result = test::hand_made_result();
    epoch_of(result).idle.steady_fraction.reset();
    EXPECT_EQ(find_bottleneck(result), Bottleneck::unknown);
    epoch_of(result).idle.fraction = 0.01;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::unknown);
}

TEST(Bottleneck, WhereSamplesAreMissingNothingIsJudged) {
    for (const bool steps : {true, false}) {
        Result result = with(0.999, 0.999);
        test::set_steady_idle(epoch_of(result), 0.001);
        if (!steps) result.step_seconds = 0;
        const Bottleneck complete = find_bottleneck(result);
        EXPECT_NE(complete, Bottleneck::unknown);
        epoch_of(result).skipped_samples = 10;  // of 1,010: below one in a hundred
        EXPECT_EQ(find_bottleneck(result), complete);
        EXPECT_EQ(accelerators_sustained(result).has_value(), steps);
        epoch_of(result).skipped_samples = 11;
        EXPECT_EQ(find_bottleneck(result), Bottleneck::unknown);
        EXPECT_FALSE(accelerators_sustained(result));
    }
}

TEST(Bottleneck, WithoutStorageTheCausesTellDecodingAndCopyingFromTheHarness) {
    const std::pair<Cause, Bottleneck> cases[] = {{Cause::decode, Bottleneck::cpu},
                                                  {Cause::h2d, Bottleneck::h2d},
                                                  {Cause::read, Bottleneck::harness},
                                                  {Cause::open, Bottleneck::harness},
                                                  {Cause::other, Bottleneck::harness}};
    for (const bool steps : {true, false}) {
        for (const auto& [cause, expected] : cases) {
            Result result = with(0.85, 0.85);
            result.controls.null_storage->idle_by_cause = only(cause);
            result.controls.null_storage->samples_per_second = 105;  // the run: 100
            if (!steps) result.step_seconds = 0;
            EXPECT_EQ(find_bottleneck(result), expected) << to_string(cause) << steps;
        }
        // Where storage makes the difference, what is left without it does not matter.
        Result result = with(0.999, 0.99);
        result.controls.null_storage->idle_by_cause = only(Cause::decode);
        if (!steps) result.step_seconds = 0;
        EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    }
}

TEST(Bottleneck, WhatCameFromMemoryIsNeverStorage) {
    for (const char* cache : {"warm", "as-is", "cold"}) {
        for (const bool steps : {true, false}) {
            for (const double steady : {0.001, 0.03, 0.2, 0.9}) {
                for (const bool has_warm : {true, false}) {
                    Result result = with(0.999, 0.9999);
                    result.config["cache"] = cache;
                    epoch_of(result).cache.verdict = "warm";
                    test::set_steady_idle(epoch_of(result), steady);
                    if (!steps) result.step_seconds = 0;
                    if (!has_warm) result.controls.warm.reset();
                    const Bottleneck found = find_bottleneck(result);
                    EXPECT_EQ(found, steps && steady < 0.02 ? Bottleneck::accelerator : Bottleneck::cpu);
                }
            }
        }
    }
}

TEST(Bottleneck, AtStepTimeZeroRatesDecide) {
    Result result = test::hand_made_result();  // 100 samples/s
    result.step_seconds = 0;
    result.bottleneck = Bottleneck::unknown;
    epoch_of(result).idle.fraction = 1;
    result.controls.null_step->samples_per_second = 100;  // the run itself: it decides nothing
    EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    result.controls.warm->samples_per_second = 109;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::cpu);
    result.controls.warm->samples_per_second = 111;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    result.controls.h2d->samples_per_second = 109;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::h2d);
    result.controls.h2d->samples_per_second = 111;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::storage);
    result.controls.null_storage->samples_per_second = 109;
    EXPECT_EQ(find_bottleneck(result), Bottleneck::harness);
}

TEST(Bottleneck, WithoutTheDecidingControlItIsUnknown) {
    Result result = test::hand_made_result();
    result.controls = {};
    EXPECT_EQ(find_bottleneck(result), Bottleneck::unknown);
    test::set_steady_idle(epoch_of(result), 0.01);
    EXPECT_EQ(find_bottleneck(result), Bottleneck::accelerator);
    result.rounds = {{}};
    EXPECT_EQ(find_bottleneck(result), Bottleneck::unknown);
}

TEST(Bottleneck, NoiseIsTheStandardErrorOfTheSteps) {
    Result result = test::hand_made_result();
    EpochResult& epoch = epoch_of(result);
    EXPECT_FALSE(steady_noise(result, epoch)) << "two of fifteen steps recorded";
    result.step_ns.assign(15, 625'000'000);
    EXPECT_NEAR(steady_noise(result, epoch).value(), 0, 1e-9);
    // The first step is no steady one, whatever it took. The others: 525 and 725 ms in turn, deviation about 104 ms.
    result.step_ns[0] = 4'000'000'000;
    for (std::size_t i = 1; i < 15; ++i) result.step_ns[i] = i % 2 == 0 ? 525'000'000 : 725'000'000;
    const double deviation = 100e6 * std::sqrt(14.0 / 13.0);
    EXPECT_NEAR(steady_noise(result, epoch).value(), 2 * 0.8 * deviation / std::sqrt(14.0) / 625e6, 1e-9);
}

// The definition's own margin: the demand of so many stays below the rate by what counts as a difference.
TEST(Bottleneck, TheAcceleratorsToTryLeaveAMargin) {
    EXPECT_EQ(accelerators_with_margin(0.5), 0U);
    EXPECT_EQ(accelerators_with_margin(1.05), 0U);
    EXPECT_EQ(accelerators_with_margin(2.19), 1U);
    EXPECT_EQ(accelerators_with_margin(2.21), 2U);
    EXPECT_EQ(accelerators_with_margin(5.1), 4U);
    for (double sustained = 1; sustained < 100; sustained += 0.37) {
        EXPECT_LE(accelerators_with_margin(sustained) * kRateDifference, sustained);
    }
}

TEST(Bottleneck, WhatTheRunReachedIsSustainedWhateverTheControlSays) {
    Result result = test::hand_made_result();  // 134 samples/s are asked for
    result.controls.null_step->samples_per_second = 201;
    EXPECT_DOUBLE_EQ(*accelerators_sustained(result), 1.5);
    result.controls.null_step->samples_per_second = 67;  // it met a slow moment: the run itself had 100
    EXPECT_DOUBLE_EQ(*accelerators_sustained(result), 100 / 134.0);
    EpochResult earlier = test::hand_made_epoch();
    earlier.samples = 1300;
    result.rounds.insert(result.rounds.begin(), {earlier});
    EXPECT_DOUBLE_EQ(*accelerators_sustained(result), 130 / 134.0);
    result.rounds[0][0].cache.verdict = "warm";
    EXPECT_DOUBLE_EQ(*accelerators_sustained(result), 100 / 134.0) << "memory's rate is not the storage's";
    result.controls.null_step->other_cache = true;
    EXPECT_FALSE(accelerators_sustained(result));
    result.controls.null_step.reset();
    EXPECT_FALSE(accelerators_sustained(result));
    result = test::hand_made_result();
    result.step_seconds = 0;
    EXPECT_FALSE(accelerators_sustained(result));
}

}  // namespace
}  // namespace feedline
