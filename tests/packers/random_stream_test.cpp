#include "packers/generate/random_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace feedline {
namespace {

std::vector<std::byte> bytes_of(std::uint64_t seed, std::uint64_t sample, std::size_t size) {
    std::vector<std::byte> bytes(size);
    RandomStream(seed, sample, Purpose::content).fill(bytes);
    return bytes;
}

TEST(RandomStream, AShorterRunIsAPrefixOfALongerOne) {
    const std::vector<std::byte> whole = bytes_of(1, 2, 4096);
    for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 4095U}) {
        const std::vector<std::byte> part = bytes_of(1, 2, size);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin())) << size;
    }
}

TEST(RandomStream, PiecesOfWholeBlocksJoinToTheSameBytes) {
    std::vector<std::byte> pieces(1000);
    RandomStream stream(1, 2, Purpose::content);
    stream.fill(std::span(pieces).first(640));
    stream.fill(std::span(pieces).subspan(640));
    EXPECT_EQ(pieces, bytes_of(1, 2, 1000));
}

TEST(RandomStream, SeedSampleAndPurposeEachChangeIt) {
    const std::vector<std::byte> base = bytes_of(1, 2, 64);
    EXPECT_NE(base, bytes_of(2, 2, 64));
    EXPECT_NE(base, bytes_of(1, 3, 64));
    EXPECT_NE(base, bytes_of(2, 1, 64));
    std::vector<std::byte> other(64);
    RandomStream(1, 2, Purpose::padding).fill(other);
    EXPECT_NE(base, other);
}

// Order-0 entropy and serial pairs: what a compressor would find first.
TEST(RandomStream, IsIncompressible) {
    const std::vector<std::byte> bytes = bytes_of(0, 0, 1 << 20);
    std::array<double, 256> counts{};
    for (const std::byte b : bytes) counts[std::to_integer<std::size_t>(b)] += 1;
    double chi2 = 0;
    const double expected = static_cast<double>(bytes.size()) / 256;
    for (const double count : counts) chi2 += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi2, 255 + 6 * std::sqrt(2 * 255.0));
    EXPECT_GT(chi2, 255 - 6 * std::sqrt(2 * 255.0));
    // The same lane, the next lane, the next block: half of the bits differ.
    for (const std::size_t distance : {1U, 8U, 64U}) {
        std::uint64_t differing = 0;
        for (std::size_t i = 0; i + distance < bytes.size(); ++i) {
            differing +=
                static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(bytes[i] ^ bytes[i + distance])));
        }
        EXPECT_NEAR(static_cast<double>(differing) / (8.0 * static_cast<double>(bytes.size())), 0.5, 0.002) << distance;
    }
}

}  // namespace
}  // namespace feedline
