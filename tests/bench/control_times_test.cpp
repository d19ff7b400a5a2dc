#include "bench/control_times.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/copies_alone.h"

namespace feedline {
namespace {

constexpr Nanoseconds kUs = 1'000;
constexpr Nanoseconds kMs = 1'000'000;
constexpr Nanoseconds kS = 1'000'000'000;

TEST(ControlTimes, AShortRunIsNotFollowedByLongControls) {
    for (const Nanoseconds step : {Nanoseconds{0}, 375 * kUs, 56 * kMs}) {
        EXPECT_LE(control_bounds(100 * kMs, step, 1, 0).at_most_ns(step, 0), 8 * kS) << step;
        EXPECT_LE(control_bounds(1 * kS, step, 1, 0).at_most_ns(step, 0), 8 * kS) << step;
    }
    // A long one allows for more, up to a limit.
    const Nanoseconds hour = control_bounds(3600 * kS, 56 * kMs, 1, 0).at_most_ns(56 * kMs, 0);
    EXPECT_GT(hour, control_bounds(1 * kS, 56 * kMs, 1, 0).at_most_ns(56 * kMs, 0));
    EXPECT_LE(hour, 30 * kS);
}

TEST(ControlTimes, PreparingTheCacheIsCounted) {
    const ControlBounds bounds = control_bounds(1 * kS, 10 * kMs, 1, 0);
    EXPECT_EQ(bounds.at_most_ns(10 * kMs, 7 * kS) - bounds.at_most_ns(10 * kMs, 0), 14 * kS);
    const ControlBounds rate = control_bounds(1 * kS, 0, 1, 0);
    EXPECT_EQ(rate.at_most_ns(0, 7 * kS) - rate.at_most_ns(0, 0), 7 * kS);
}

TEST(ControlTimes, TheHarnessRunsTwoThousandStepsWhereTheyFit) {
    EXPECT_EQ(control_bounds(1 * kS, 375 * kUs, 1, 0).null_storage.steps, 2000U);
    EXPECT_EQ(control_bounds(1 * kS, 375 * kUs, 8, 0).null_storage.steps, 2000U);
    EXPECT_EQ(control_bounds(1 * kS, 0, 1, 0).null_storage_rate.steps, 2000U);
    // 2 s of steps of 10 ms.
    EXPECT_EQ(control_bounds(1 * kS, 10 * kMs, 1, 0).null_storage.steps, 200U);
    EXPECT_EQ(control_bounds(1 * kS, 10 * kMs, 4, 0).null_storage.steps, 800U);
}

TEST(ControlTimes, EveryAcceleratorGetsItsSteadySteps) {
    for (const unsigned devices : {1U, 3U, 16U}) {
        for (const std::uint64_t warmup : {0U, 1U, 7U, 5000U}) {
            for (const Nanoseconds step : {1 * kMs, 300 * kMs, 5 * kS}) {
                const ControlBounds bounds = control_bounds(1 * kS, step, devices, warmup);
                const std::uint64_t each = std::max<std::uint64_t>(1, (warmup + devices - 1) / devices);
                for (const PassBound& bound : {bounds.null_storage, bounds.warm}) {
                    EXPECT_GE(bound.steps, (each + 2) * devices) << devices << " " << warmup << " " << step;
                    EXPECT_GE(bound.duration_ns, static_cast<Nanoseconds>(each + 2) * step);
                }
            }
        }
    }
}

TEST(ControlTimes, LongStepsAreNotWaitedForWhereTheyOnlyAddUp) {
    EXPECT_FALSE(control_bounds(20 * kS, 100 * kMs, 1, 0).serial_without_steps);
    const ControlBounds bounds = control_bounds(20 * kS, 5 * kS, 1, 0);
    EXPECT_TRUE(bounds.serial_without_steps);
    EXPECT_LE(bounds.serial.duration_ns, 2 * kS);
}

DeviceOptions device(unsigned slots, Nanoseconds step_ns) {
    DeviceOptions options;
    options.slots = slots;
    options.step_ns = step_ns;
    options.h2d_bytes_per_second = 1e9;  // a byte takes a nanosecond
    options.h2d_latency_ns = 10;
    return options;
}

TEST(CopiesAlone, AreHiddenBehindLongerSteps) {
    const IdleFigures idle = copies_alone(device(8, 1000), 490, 100, 0);
    EXPECT_EQ(idle.steps, 100U);
    EXPECT_DOUBLE_EQ(idle.steady_fraction.value(), 0);
    EXPECT_EQ(idle.first_fill_ns, 500);
    EXPECT_EQ(idle.t1_ns, 500 + 100 * 1000);
}

TEST(CopiesAlone, PaceShorterSteps) {
    const IdleFigures idle = copies_alone(device(8, 500), 1990, 100, 0);
    EXPECT_DOUBLE_EQ(idle.steady_fraction.value(), 0.75);
    EXPECT_NEAR(idle.by_cause[Cause::h2d], idle.idle_ns, 1e-6);
    EXPECT_EQ(idle.t1_ns, 100 * 2000 + 500);
}

TEST(CopiesAlone, OneSlotLetsNothingOverlap) {
    // One device buffer: a copy begins when the step before is over.
    const IdleFigures idle = copies_alone(device(1, 1000), 990, 50, 0);
    EXPECT_DOUBLE_EQ(idle.steady_fraction.value(), 0.5);
}

TEST(CopiesAlone, WithoutStepsTheRateIsTheCopys) {
    const IdleFigures idle = copies_alone(device(8, 0), 990, 2000, 0);
    EXPECT_EQ(idle.t1_ns - idle.t0_ns, 2000 * 1000);
}

}  // namespace
}  // namespace feedline
