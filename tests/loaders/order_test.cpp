#include "loaders/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "core/error.h"

namespace feedline {
namespace {

std::vector<std::uint64_t> all_of(const Permutation& permutation) {
    std::vector<std::uint64_t> values(permutation.size());
    permutation.fill(0, values);
    return values;
}

testing::AssertionResult is_permutation_of_all(const std::vector<std::uint64_t>& values) {
    std::vector<bool> seen(values.size());
    for (const std::uint64_t value : values) {
        if (value >= values.size()) return testing::AssertionFailure() << value << " is out of range";
        if (seen[value]) return testing::AssertionFailure() << value << " comes twice";
        seen[value] = true;
    }
    return testing::AssertionSuccess();
}

TEST(Permutation, HoldsForEverySizeUpTo2000) {
    for (std::uint64_t size = 1; size <= 2000; ++size) {
        ASSERT_TRUE(is_permutation_of_all(all_of(Permutation(size, size * 31)))) << size;
    }
}

TEST(Permutation, HoldsAroundEveryPowerOfTwoUpTo2To20) {
    for (unsigned bits = 11; bits <= 20; ++bits) {
        const std::uint64_t power = std::uint64_t{1} << bits;
        for (const std::uint64_t size : {power - 1, power, power + 1}) {
            ASSERT_TRUE(is_permutation_of_all(all_of(Permutation(size, bits)))) << size;
        }
    }
}

TEST(Permutation, DoesNotRepeatNorLeaveHugeRanges) {
    constexpr std::uint64_t kSample = 50'000;
    for (const std::uint64_t size : std::initializer_list<std::uint64_t>{
             (1ULL << 32U) - 1, 1ULL << 32U, (1ULL << 32U) + 1, 8'500'000'000'000, (1ULL << 63U) + 12345, UINT64_MAX}) {
        const Permutation permutation(size, 7);
        std::unordered_set<std::uint64_t> seen;
        for (const std::uint64_t first : {std::uint64_t{0}, size / 3, size - kSample}) {
            std::vector<std::uint64_t> values(kSample);
            permutation.fill(first, values);
            for (const std::uint64_t value : values) {
                ASSERT_LT(value, size);
                ASSERT_TRUE(seen.insert(value).second) << value << " comes twice below " << size;
            }
        }
    }
}

TEST(Permutation, FillingIsEvaluatingPointByPoint) {
    for (const std::uint64_t size : {1ULL, 2ULL, 5ULL, 255ULL, 256ULL, 257ULL, 1025ULL, 1'281'167ULL}) {
        const Permutation permutation(size, 99);
        const std::uint64_t count = std::min<std::uint64_t>(size, 3000);
        for (const std::uint64_t first : {std::uint64_t{0}, size - count}) {
            std::vector<std::uint64_t> values(count);
            permutation.fill(first, values);
            for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(values[i], permutation(first + i)) << size;
        }
    }
}

// How far counts are from equal, in standard deviations of what chance alone gives (normal approximation of
// chi-square).
double deviation(const std::vector<std::uint64_t>& counts, double degrees_of_freedom) {
    const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    const double expected = total / static_cast<double>(counts.size());
    double chi_square = 0;
    for (const std::uint64_t count : counts) {
        const double difference = static_cast<double>(count) - expected;
        chi_square += difference * difference / expected;
    }
    return (chi_square - degrees_of_freedom) / std::sqrt(2 * degrees_of_freedom);
}

std::vector<SampleId> epoch_of(std::uint64_t samples, std::uint64_t seed, std::uint64_t epoch) {
    OrderOptions options;
    options.seed = seed;
    options.epoch = epoch;
    options.batch_size = samples;
    const Order order(samples, options);
    std::vector<SampleId> ids(samples);
    order.batch(0, ids);
    return ids;
}

class OrderStatistics : public testing::TestWithParam<std::uint64_t> {};

// The seeds are fixed, so each of these either always passes or never. Five standard deviations are one in millions.
constexpr double kFar = 5;

TEST_P(OrderStatistics, EverySampleIsEquallyLikelyAtEveryPosition) {
    const std::uint64_t n = GetParam();
    std::vector<std::uint64_t> counts(n * n);
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        const std::vector<SampleId> ids = epoch_of(n, seed, 0);
        for (std::uint64_t position = 0; position < n; ++position) ++counts[position * n + ids[position]];
    }
    EXPECT_LT(deviation(counts, static_cast<double>((n - 1) * (n - 1))), kFar);
}

TEST_P(OrderStatistics, EveryNeighbourIsEquallyLikely) {
    const std::uint64_t n = GetParam();
    std::vector<std::uint64_t> counts(n - 1);
    for (std::uint64_t epoch = 0; epoch < 20000; ++epoch) {
        const std::vector<SampleId> ids = epoch_of(n, 0, epoch);
        ++counts[(ids[1] + n - ids[0]) % n - 1];
    }
    EXPECT_LT(deviation(counts, static_cast<double>(n - 2)), kFar);
}

TEST_P(OrderStatistics, EpochsAndSeedsDoNotResembleTheOneBefore) {
    const std::uint64_t n = GetParam();
    // By how far a sample moves, from one epoch to the next and from one seed to the next.
    std::vector<std::uint64_t> by_epoch(n);
    std::vector<std::uint64_t> by_seed(n);
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        const std::uint64_t first = epoch_of(n, seed, 0)[0];
        ++by_epoch[(epoch_of(n, seed, 1)[0] + n - first) % n];
        ++by_seed[(epoch_of(n, seed + 1, 0)[0] + n - first) % n];
    }
    EXPECT_LT(deviation(by_epoch, static_cast<double>(n - 1)), kFar);
    EXPECT_LT(deviation(by_seed, static_cast<double>(n - 1)), kFar);
}

INSTANTIATE_TEST_SUITE_P(Sizes, OrderStatistics, testing::Values(3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 32, 33, 64));

TEST(OrderStatisticsSmall, TwoSamplesChangePlacesEverySecondTime) {
    std::vector<std::uint64_t> first(2);
    for (std::uint64_t seed = 0; seed < 4000; ++seed) ++first[epoch_of(2, seed, 0)[0]];
    EXPECT_LT(deviation(first, 1), kFar);
}

TEST(OrderStatisticsLarge, AMillionSamplesSpreadOverAllBuckets) {
    constexpr std::uint64_t kSamples = 1'000'000;
    constexpr std::uint64_t kBuckets = 32;
    const std::vector<SampleId> ids = epoch_of(kSamples, 1, 2);
    std::vector<std::uint64_t> places(kBuckets * kBuckets);
    std::vector<std::uint64_t> steps(kBuckets);
    for (std::uint64_t i = 0; i < kSamples; ++i) {
        ++places[i * kBuckets / kSamples * kBuckets + ids[i] * kBuckets / kSamples];
        if (i != 0) ++steps[(ids[i] + kSamples - ids[i - 1]) % kSamples * kBuckets / kSamples];
    }
    EXPECT_LT(deviation(places, (kBuckets - 1) * (kBuckets - 1)), kFar);
    EXPECT_LT(deviation(steps, kBuckets - 1), kFar);
}

std::vector<std::vector<SampleId>> batches_of(const Order& order) {
    std::vector<std::vector<SampleId>> batches;
    for (std::uint64_t b = 0; b < order.batches(); ++b) {
        std::vector<SampleId> ids(order.batch_samples(b));
        order.batch(b, ids);
        batches.push_back(ids);
    }
    return batches;
}

TEST(Order, RanksShareEverySampleOnceInEqualCountsOfBatches) {
    std::mt19937_64 random(2024);
    for (int round = 0; round < 400; ++round) {
        const std::uint64_t samples = 1 + random() % (round % 2 == 0 ? 50 : 3000);
        OrderOptions options;
        options.mode = round % 3 == 0 ? OrderMode::sequential : OrderMode::shuffle;
        options.batch_size = 1 + random() % (round % 5 == 0 ? 4000 : 40);
        options.world = static_cast<std::uint32_t>(1 + random() % 9);
        options.seed = random();
        options.epoch = random() % 5;
        std::vector<SampleId> all;
        std::vector<std::uint64_t> batches;
        std::uint64_t shortest = UINT64_MAX;
        std::uint64_t longest = 0;
        for (options.rank = 0; options.rank < options.world; ++options.rank) {
            const Order order(samples, options);
            batches.push_back(order.batches());
            std::uint64_t mine = 0;
            for (const auto& batch : batches_of(order)) {
                ASSERT_LE(batch.size(), options.batch_size);
                mine += batch.size();
                all.insert(all.end(), batch.begin(), batch.end());
            }
            ASSERT_EQ(mine, order.samples());
            for (std::uint64_t b = 0; b + 1 < order.batches(); ++b) {
                ASSERT_EQ(order.batch_samples(b), options.batch_size) << "only the last may be short";
            }
            shortest = std::min(shortest, mine);
            longest = std::max(longest, mine);
        }
        ASSERT_EQ(std::count(batches.begin(), batches.end(), batches.front()), options.world);
        ASSERT_LE(longest - shortest, 1U) << "the last step is shared evenly";
        std::sort(all.begin(), all.end());
        ASSERT_EQ(all.size(), samples);
        for (SampleId id = 0; id < samples; ++id) {
            ASSERT_EQ(all[id], id) << samples << " samples, batch " << options.batch_size << ", world "
                                   << options.world;
        }
    }
}

TEST(Order, OneRankOfManySeesTheGlobalOrder) {
    OrderOptions options;
    options.seed = 5;
    options.batch_size = 8;
    const auto global = batches_of(Order(64, options));
    options.batch_size = 4;
    options.world = 2;
    for (options.rank = 0; options.rank < 2; ++options.rank) {
        const auto mine = batches_of(Order(64, options));
        ASSERT_EQ(mine.size(), global.size());
        for (std::size_t b = 0; b < mine.size(); ++b) {
            EXPECT_TRUE(std::equal(mine[b].begin(), mine[b].end(), global[b].begin() + 4L * options.rank));
        }
    }
}

TEST(Order, DependsOnSeedAndEpochAlone) {
    EXPECT_EQ(epoch_of(1000, 3, 4), epoch_of(1000, 3, 4));
    std::vector<std::vector<SampleId>> orders;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        for (std::uint64_t epoch = 0; epoch < 6; ++epoch) orders.push_back(epoch_of(1000, seed, epoch));
    }
    std::sort(orders.begin(), orders.end());
    EXPECT_EQ(std::adjacent_find(orders.begin(), orders.end()), orders.end()) << "two of them are the same";
}

TEST(Order, StaysTheSameBetweenVersions) {
    // A resumed job must see the order that it began with.
    EXPECT_EQ(epoch_of(8, 0, 0), (std::vector<SampleId>{3, 0, 7, 2, 1, 6, 4, 5}));
    std::vector<SampleId> ids(4);
    OrderOptions options;
    options.seed = 42;
    options.epoch = 1;
    options.batch_size = 4;
    Order(1'281'167, options).batch(1000, ids);
    EXPECT_EQ(ids, (std::vector<SampleId>{1235278, 442262, 446698, 1276285}));
}

TEST(Order, SequentialIsTheDatasetsOwnOrder) {
    OrderOptions options;
    options.mode = OrderMode::sequential;
    options.batch_size = 3;
    const auto batches = batches_of(Order(7, options));
    EXPECT_EQ(batches, (std::vector<std::vector<SampleId>>{{0, 1, 2}, {3, 4, 5}, {6}}));
}

TEST(Order, SomeRanksOfALastStepMayBeEmpty) {
    OrderOptions options;
    options.batch_size = 4;
    options.world = 3;
    options.rank = 2;
    const Order order(13, options);
    ASSERT_EQ(order.batches(), 2U);
    EXPECT_EQ(order.batch_samples(1), 0U);
    EXPECT_EQ(order.samples(), 4U);
}

TEST(Order, RefusesWhatHasNoOrder) {
    const auto kind = [](std::uint64_t samples, std::uint64_t batch, std::uint32_t rank, std::uint32_t world) {
        OrderOptions options;
        options.batch_size = batch;
        options.rank = rank;
        options.world = world;
        try {
            const Order order(samples, options);
        } catch (const Error& error) {
            return error.kind();
        }
        return ErrorKind::internal;
    };
    EXPECT_EQ(kind(0, 1, 0, 1), ErrorKind::usage);
    EXPECT_EQ(kind(10, 0, 0, 1), ErrorKind::usage);
    EXPECT_EQ(kind(10, 1, 2, 2), ErrorKind::usage);
    EXPECT_EQ(kind(10, 1, 0, 0), ErrorKind::usage);
    EXPECT_EQ(kind(10, UINT64_MAX / 2, 0, 3), ErrorKind::usage);
}

TEST(Order, ABatchLargerThanTheDatasetIsOneShortBatch) {
    OrderOptions options;
    options.batch_size = UINT64_MAX;
    const Order order(3, options);
    EXPECT_EQ(order.batches(), 1U);
    EXPECT_EQ(order.batch_samples(0), 3U);
}

}  // namespace
}  // namespace feedline
