#include "core/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace feedline {
namespace {

TEST(Histogram, EmptyIsZero) {
    const Histogram h;
    EXPECT_EQ(h.count(), 0U);
    EXPECT_EQ(h.quantile(0.5), 0);
    EXPECT_EQ(h.max(), 0);
}

TEST(Histogram, SmallValuesAreExact) {
    Histogram h;
    for (int i = 1; i <= 100; ++i) h.record(i);
    EXPECT_EQ(h.quantile(0.50), 50);
    EXPECT_EQ(h.quantile(0.99), 99);
    EXPECT_EQ(h.quantile(1.00), 100);
    EXPECT_EQ(h.min(), 1);
    EXPECT_DOUBLE_EQ(h.mean(), 50.5);
}

TEST(Histogram, ExtremesDoNotOverflow) {
    Histogram h;
    h.record(std::numeric_limits<std::int64_t>::max());
    h.record(-5);
    EXPECT_EQ(h.max(), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(h.quantile(1.0), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(h.quantile(0.0), 0);
}

TEST(Histogram, QuantilesAreWithinTheStatedErrorOfTheSortedValues) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 20; ++round) {
        std::lognormal_distribution<double> values(10, 3);
        Histogram first;
        Histogram second;
        std::vector<std::int64_t> all;
        for (int i = 0; i < 5000; ++i) {
            const auto value = static_cast<std::int64_t>(values(random));
            all.push_back(value);
            (i % 2 == 0 ? first : second).record(value);
        }
        first.merge(second);
        std::sort(all.begin(), all.end());
        ASSERT_EQ(first.count(), all.size());
        for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999}) {
            const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(all.size())));
            const auto exact = static_cast<double>(all[rank - 1]);
            const auto seen = static_cast<double>(first.quantile(q));
            EXPECT_GE(seen, exact);
            EXPECT_LE(seen, exact * (1 + 1.0 / 64) + 1);
        }
        EXPECT_EQ(first.max(), all.back());
        EXPECT_EQ(first.min(), all.front());
    }
}

}  // namespace
}  // namespace feedline
