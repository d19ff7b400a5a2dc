#include "packers/generate/sizes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/error.h"

namespace feedline {
namespace {

constexpr std::uint64_t kSamples = 200'000;

struct Moments {
    double mean;
    double stddev;
    std::uint64_t smallest;
};

Moments moments_of(const SizeModel& model) {
    std::vector<double> values(kSamples);
    double sum = 0;
    std::uint64_t smallest = ~std::uint64_t{0};
    for (std::uint64_t i = 0; i < kSamples; ++i) {
        smallest = std::min(smallest, model.size_bytes(i));
        values[i] = static_cast<double>(model.size_bytes(i));
        sum += values[i];
    }
    const double mean = sum / kSamples;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return {mean, std::sqrt(squares / kSamples), smallest};
}

TEST(Sizes, LognormalHasTheMomentsAskedFor) {
    for (const std::uint64_t stddev : {20'000U, 57'000U, 114'660U}) {
        const Moments got = moments_of(SizeModel(SizeDistribution::lognormal, 114'660, stddev, 3, {}));
        // Standard error of the mean: stddev / sqrt(200,000) = 0.0022 stddev.
        EXPECT_NEAR(got.mean, 114'660, 0.01 * static_cast<double>(stddev)) << stddev;
        EXPECT_NEAR(got.stddev, static_cast<double>(stddev), 0.04 * static_cast<double>(stddev)) << stddev;
    }
}

TEST(Sizes, LognormalIsSkewedAsALognormalIs) {
    const SizeModel model(SizeDistribution::lognormal, 100'000, 100'000, 9, {});
    // Median = mean / sqrt(1 + s^2 / m^2).
    std::uint64_t below = 0;
    for (std::uint64_t i = 0; i < kSamples; ++i) below += model.size_bytes(i) < 70'711 ? 1U : 0U;
    EXPECT_NEAR(static_cast<double>(below) / kSamples, 0.5, 0.005);
}

TEST(Sizes, NormalHasTheMomentsAskedFor) {
    const Moments got = moments_of(SizeModel(SizeDistribution::normal, 2'828'486, 71'311, 0, {}));
    EXPECT_NEAR(got.mean, 2'828'486, 700);
    EXPECT_NEAR(got.stddev, 71'311, 700);
}

TEST(Sizes, AWideNormalIsCutAtOneByteByDrawingAgain) {
    const double mean = 146'600'628;
    const double stddev = 68'341'808;
    const Moments got = moments_of(SizeModel(SizeDistribution::normal, 146'600'628, 68'341'808, 0, {}));
    EXPECT_GE(got.smallest, 1U);
    // The mean of a normal cut at 0: m + s phi(m/s) / Phi(m/s).
    const double a = mean / stddev;
    const double phi = std::exp(-a * a / 2) / std::sqrt(2 * M_PI);
    const double cut_mean = mean + stddev * phi / (0.5 * std::erfc(-a / std::sqrt(2.0)));
    EXPECT_NEAR(got.mean, cut_mean, 0.01 * stddev);
}

TEST(Sizes, NoDeviationMeansOneSize) {
    const SizeModel model(SizeDistribution::lognormal, 114'660, 0, 1, {});
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(model.size_bytes(i), 114'660U);
}

TEST(Sizes, TinyMeansStayAboveZero) {
    const SizeModel model(SizeDistribution::lognormal, 1, 10, 1, {});
    for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_GE(model.size_bytes(i), 1U);
}

TEST(Sizes, TheSeedChangesThem) {
    const SizeModel a(SizeDistribution::lognormal, 114'660, 50'000, 1, {});
    const SizeModel b(SizeDistribution::lognormal, 114'660, 50'000, 2, {});
    int same = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) same += a.size_bytes(i) == b.size_bytes(i) ? 1 : 0;
    EXPECT_LT(same, 10);
}

TEST(Sizes, ARangeIsKept) {
    const SizeModel model(SizeDistribution::lognormal, 2000, 4000, 1, {1024, 5000});
    std::uint64_t smallest = ~std::uint64_t{0};
    std::uint64_t largest = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        smallest = std::min(smallest, model.size_bytes(i));
        largest = std::max(largest, model.size_bytes(i));
    }
    EXPECT_EQ(smallest, 1024U);
    EXPECT_EQ(largest, 5000U);
}

TEST(Sizes, WhatMakesNoSenseIsRefused) {
    const auto refused = [](SizeDistribution distribution, std::uint64_t mean, std::uint64_t stddev,
                            const SizeRange& range) {
        try {
            const SizeModel model(distribution, mean, stddev, 0, range);
        } catch (const Error& error) {
            return error.kind() == ErrorKind::usage;
        }
        return false;
    };
    EXPECT_TRUE(refused(SizeDistribution::lognormal, 0, 0, {}));
    EXPECT_TRUE(refused(SizeDistribution::lognormal, 100, 1001, {}));
    EXPECT_FALSE(refused(SizeDistribution::lognormal, 100, 1000, {}));
    EXPECT_TRUE(refused(SizeDistribution::normal, 100, 101, {}));
    EXPECT_FALSE(refused(SizeDistribution::normal, 100, 100, {}));
    EXPECT_TRUE(refused(SizeDistribution::lognormal, std::uint64_t{1} << 41U, 0, {}));
    EXPECT_TRUE(refused(SizeDistribution::lognormal, 100, 0, {1024, 4096}));
    EXPECT_TRUE(refused(SizeDistribution::lognormal, 5000, 0, {1024, 4096}));
}

TEST(ReproducibleMath, ExpAgreesWithTheLibrary) {
    for (int i = -5000; i <= 5000; ++i) {
        const double x = i * 0.01037;
        EXPECT_NEAR(reproducible_exp(x) / std::exp(x), 1, 1e-14) << x;
    }
    EXPECT_EQ(reproducible_exp(0), 1);
}

TEST(ReproducibleMath, LogAgreesWithTheLibrary) {
    for (int i = -5000; i <= 5000; ++i) {
        const double x = std::exp(i * 0.1373);
        EXPECT_NEAR(reproducible_log(x), std::log(x), 4e-15 * std::max(0.1, std::fabs(std::log(x)))) << x;
    }
    EXPECT_EQ(reproducible_log(1), 0);
}

// Same bits on every machine: these came from one, and every other must agree.
TEST(ReproducibleMath, Golden) {
    EXPECT_EQ(reproducible_exp(11.649), 0x1.bf90baa1211d9p+16);
    EXPECT_EQ(reproducible_log(114'660), 0x1.74ca8f3e13351p+3);
}

}  // namespace
}  // namespace feedline
