#include "loaders/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace feedline {
namespace {

using Lengths = std::vector<std::uint64_t>;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
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

// A ring and the batches that lie in it, oldest first.
struct Laid {
    Ring ring;
    std::deque<SlabSpan> live{};

    std::optional<std::uint64_t> place(std::uint64_t length) {
        const std::vector<SlabSpan> spans(live.begin(), live.end());
        const std::optional<std::uint64_t> begin = ring.place(length, spans);
        if (begin) live.push_back({*begin, *begin + length});
        return begin;
    }
    void release() { live.pop_front(); }
};

TEST(Ring, PlacesBatchesBehindEachOtherAndBeginsAgainWhereOneDoesNotFit) {
    Laid laid{Ring(1024, 64, 4)};
    EXPECT_EQ(laid.place(100), 0U);
    EXPECT_EQ(laid.place(300), 128U);
    EXPECT_EQ(laid.place(576), 448U);  // up to the last byte
    laid.release();
    EXPECT_EQ(laid.place(100), 0U);
    EXPECT_EQ(laid.place(1), std::nullopt);  // the 300 bytes are next
    laid.release();
    EXPECT_EQ(laid.place(1), 128U);
}

TEST(Ring, ReturnsToWarmMemoryWhileFewBatchesAreLive) {
    Laid laid{Ring(65536, 64, 8)};
    EXPECT_EQ(laid.place(1000), 0U);
    EXPECT_EQ(laid.place(1000), 1024U);  // one is live, but it lies at the start
    std::uint64_t furthest = 0;
    for (int batch = 0; batch < 1000; ++batch) {
        laid.release();
        const auto begin = laid.place(1000);
        ASSERT_TRUE(begin.has_value());
        furthest = std::max(furthest, *begin);
    }
    EXPECT_EQ(furthest, 1024U);
}

TEST(Ring, GoesRoundWhereTheConsumerIsTheSlowerSide) {
    Laid laid{Ring(ring_bytes(std::vector<Lengths>{Lengths(20, 1024)}, 8, 64), 64, 8)};
    for (unsigned batch = 0; batch < 8; ++batch) EXPECT_EQ(laid.place(1024), batch * 1024U);
    std::uint64_t furthest = 0;
    for (int batch = 0; batch < 9; ++batch) {
        laid.release();
        furthest = std::max(furthest, laid.place(1024).value());
    }
    EXPECT_EQ(furthest, 8192U);
}

TEST(RingBytes, OfEqualBatchesIsTheSlotsAndOneMore) {
    for (const unsigned slots : {1U, 2U, 8U}) {
        Lengths lengths(100, 640);
        lengths.push_back(64);  // the last one is short
        EXPECT_EQ(ring_bytes(std::vector<Lengths>{lengths}, slots, 64), (slots + (slots > 1 ? 1 : 0)) * 640U);
    }
}

TEST(RingBytes, OfNothingIsNothing) {
    EXPECT_EQ(ring_bytes({}, 4, 64), 0U);
    EXPECT_EQ(ring_bytes(std::vector<Lengths>{{}}, 4, 64), 0U);
    EXPECT_EQ(ring_bytes(std::vector<Lengths>{{0, 0}}, 4, 64), 0U);
}

// However far the consumer is behind at any time: no two live batches share a byte, what does not fit has to wait for
// no more than the batches that were live at a return to the start, and where all slots are taken again and again
// (nothing returns then), all of them are always there.
TEST(RingBytes, HoldsAllSlotsAndLosesNoByteUnderAnyConsumer) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 400; ++round) {
        const unsigned slots = 1 + static_cast<unsigned>(random() % 12);
        const std::uint64_t alignment = std::uint64_t{1} << (random() % 7);
        const bool always_behind = random() % 2 == 0;
        Lengths lengths(1 + random() % 60);
        for (std::uint64_t& length : lengths) length = random() % 5 == 0 ? random() % 5000 : 400 + random() % 200;
        const std::uint64_t bytes = ring_bytes(std::vector<Lengths>{lengths}, slots, alignment);
        EXPECT_GE(bytes, longest_window(lengths, slots, alignment));

        Laid laid{Ring(bytes, alignment, slots)};
        for (int epoch = 0; epoch < 3; ++epoch) {
            for (const std::uint64_t length : lengths) {
                while (laid.live.size() == slots) laid.release();
                if (!always_behind) {
                    for (std::uint64_t n = random() % (slots + 1); n > 0 && !laid.live.empty(); --n) laid.release();
                }
                const std::vector<SlabSpan> before(laid.live.begin(), laid.live.end());
                // The last batches of an epoch and the first of the next make windows that ring_bytes() did not see.
                while (!laid.place(length)) {
                    ASSERT_FALSE(laid.live.empty()) << "round " << round;
                    ASSERT_FALSE(always_behind && epoch == 0) << "round " << round << ": a slot is missing";
                    laid.release();
                }
                const SlabSpan placed = laid.live.back();
                ASSERT_EQ(placed.begin % alignment, 0U);
                ASSERT_LE(placed.end, bytes);
                for (std::size_t i = 0; i + 1 < laid.live.size(); ++i) {
                    const SlabSpan& other = laid.live[i];
                    ASSERT_TRUE(placed.end <= other.begin || other.end <= placed.begin) << "round " << round;
                }
            }
        }
    }
}

}  // namespace
}  // namespace feedline
