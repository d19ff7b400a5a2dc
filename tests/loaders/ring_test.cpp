#include "loaders/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace feedline {
namespace {

using Lengths = std::vector<std::uint64_t>;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

// Whether any two of `slots` consecutive batches share a byte, by comparing all pairs.
bool overlaps(const Lengths& lengths, unsigned slots, std::uint64_t bytes, std::uint64_t alignment) {
    Ring ring(bytes, alignment);
    std::vector<std::uint64_t> begins;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        begins.push_back(ring.place(lengths[i]));
        if (begins[i] % alignment != 0 || begins[i] + lengths[i] > bytes) return true;
        for (std::size_t j = i + 1 < slots ? 0 : i + 1 - slots; j < i; ++j) {
            if (begins[i] < begins[j] + lengths[j] && begins[j] < begins[i] + lengths[i]) return true;
        }
    }
    return false;
}

std::uint64_t longest_window(const Lengths& lengths, unsigned slots, std::uint64_t alignment) {
    std::uint64_t longest = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        std::uint64_t sum = 0;
        for (std::size_t j = i; j < std::min(lengths.size(), i + slots); ++j) sum += round_up(lengths[j], alignment);
        longest = std::max(longest, sum);
    }
    return longest;
}

TEST(Ring, PlacesBatchesBehindEachOtherAndBeginsAgainWhereOneDoesNotFit) {
    Ring ring(1024, 64);
    EXPECT_EQ(ring.place(100), 0U);
    EXPECT_EQ(ring.place(300), 128U);
    EXPECT_EQ(ring.place(576), 448U);  // up to the last byte
    EXPECT_EQ(ring.place(1), 0U);
    EXPECT_EQ(ring.place(961), 0U);
    EXPECT_EQ(ring.place(0), 1024U);  // nothing fits anywhere
}

TEST(RingBytes, OfEqualBatchesIsExactlyTheSlots) {
    for (const unsigned slots : {1U, 2U, 8U}) {
        Lengths lengths(100, 640);
        lengths.push_back(64);  // the last one is short
        EXPECT_EQ(ring_bytes(std::vector<Lengths>{lengths}, slots, 64), slots * 640U);
    }
}

TEST(RingBytes, OfNothingIsNothing) {
    EXPECT_EQ(ring_bytes({}, 4, 64), 0U);
    EXPECT_EQ(ring_bytes(std::vector<Lengths>{{}}, 4, 64), 0U);
    EXPECT_EQ(ring_bytes(std::vector<Lengths>{{0, 0}}, 4, 64), 0U);
}

TEST(RingBytes, NeverLetsLiveBatchesOverlapAndWastesAtMostOneBatch) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 400; ++round) {
        const unsigned slots = 1 + static_cast<unsigned>(random() % 9);
        const std::uint64_t alignment = std::uint64_t{1} << (random() % 7);
        std::vector<Lengths> epochs(1 + random() % 3);
        std::uint64_t window = 0;
        std::uint64_t longest = 0;
        for (Lengths& lengths : epochs) {
            lengths.resize(1 + random() % 60);
            for (std::uint64_t& length : lengths) {
                length = random() % 5 == 0 ? random() % 5000 : 400 + random() % 200;
                longest = std::max(longest, round_up(length, alignment));
            }
            window = std::max(window, longest_window(lengths, slots, alignment));
        }
        const std::uint64_t bytes = ring_bytes(epochs, slots, alignment);
        EXPECT_GE(bytes, window);
        EXPECT_LE(bytes, window + longest);
        for (const Lengths& lengths : epochs) {
            ASSERT_FALSE(overlaps(lengths, slots, bytes, alignment)) << "round " << round << ", slots " << slots;
        }
    }
}

}  // namespace
}  // namespace feedline
