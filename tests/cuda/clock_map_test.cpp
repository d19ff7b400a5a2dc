#include "cuda/clock_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace feedline {
namespace {

TEST(ClockMap, ShiftsByItsFirstAnchor) {
    ClockMap map;
    map.restart(500, 1'000'000);
    EXPECT_EQ(map.to_host(500), 1'000'000);
    EXPECT_EQ(map.to_host(1500), 1'001'000);
    EXPECT_EQ(map.to_host(0), 999'500);
}

TEST(ClockMap, ForgetsWhatWasBeforeARestart) {
    ClockMap map;
    map.restart(0, 0);
    map.correct(1e9, 1'000'100'000);
    map.restart(7, 70);
    EXPECT_EQ(map.to_host(107), 170);
}

TEST(ClockMap, DoesNotJumpAtACorrection) {
    ClockMap map;
    map.restart(0, 0);
    const Nanoseconds before = map.to_host(1e9);
    map.correct(1e9, 1'000'050'000);
    EXPECT_EQ(map.to_host(1e9), before);
    EXPECT_NEAR(static_cast<double>(map.to_host(2e9)), 2'000'050'000.0, 1.0);
}

// A GPU clock that is 20 ppm slow, read with up to 4 us of error once a second for an hour.
TEST(ClockMap, FollowsADriftingClockWithinItsBound) {
    constexpr double kDrift = 20e-6;
    constexpr double kReadingError = 4'000;
    std::mt19937 random(3);
    std::uniform_real_distribution<double> reading(-kReadingError, kReadingError);
    ClockMap map;
    map.restart(0, 5'000);
    const auto truth = [](double device_ns) { return 5'000 + device_ns * (1 + kDrift); };
    Nanoseconds last = map.to_host(0);
    for (int second = 1; second <= 3600; ++second) {
        const double device_ns = second * 1e9;
        for (int k = 9; k >= 0; --k) {
            const double at = device_ns - k * 1e8;
            const Nanoseconds mapped = map.to_host(at);
            ASSERT_GT(mapped, last);
            last = mapped;
            ASSERT_LE(std::abs(static_cast<double>(mapped) - truth(at)), kDrift * 1e9 + 2 * kReadingError)
                << "second " << second;
        }
        map.correct(device_ns, static_cast<Nanoseconds>(truth(device_ns) + reading(random)));
    }
}

TEST(ClockMap, NeverRunsBackwards) {
    ClockMap map;
    map.restart(0, 0);
    map.correct(1e9, -5'000'000'000);  // a reading that cannot be
    EXPECT_GT(map.to_host(1e9 + 1e6), map.to_host(1e9));
}

}  // namespace
}  // namespace feedline
