#include "loaders/shards/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace feedline {
namespace {

TEST(ForEachIndex, DoesEachOnce) {
    for (const std::size_t count : {0UL, 1UL, 2UL, 1000UL}) {
        std::vector<std::atomic<int>> done(count);
        for_each_index(count, 7, [&](std::size_t i) { ++done[i]; });
        for (const auto& times : done) EXPECT_EQ(times.load(), 1);
    }
}

TEST(ForEachIndex, ThrowsWhatTheFirstToFailThrewAndBeginsNoMore) {
    std::atomic<std::size_t> begun{0};
    EXPECT_THROW(for_each_index(1'000'000, 4,
                                [&](std::size_t i) {
                                    ++begun;
                                    if (i == 3) throw std::runtime_error("three");
                                }),
                 std::runtime_error);
    EXPECT_LT(begun.load(), 1'000'000U);
}

}  // namespace
}  // namespace feedline
