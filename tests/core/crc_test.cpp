#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/crc32.h"
#include "core/crc32c.h"

namespace feedline {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

// RFC 3720, appendix B.4, and the check value of the CRC catalogue.
TEST(Crc32c, GivesThePublishedValues) {
    EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
    EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aaU);
    EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43U);
    std::vector<std::byte> ascending(32);
    for (std::size_t i = 0; i < ascending.size(); ++i) ascending[i] = static_cast<std::byte>(i);
    EXPECT_EQ(crc32c(ascending), 0x46dd794eU);
    EXPECT_EQ(crc32c(bytes_of("")), 0U);
}

// The check value of the CRC catalogue (CRC-32/ISO-HDLC), and that of a byte 0.
TEST(Crc32, GivesThePublishedValues) {
    EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926U);
    EXPECT_EQ(crc32(std::vector<std::byte>(1, std::byte{0})), 0xd202ef8dU);
    EXPECT_EQ(crc32(bytes_of("")), 0U);
}

TEST(Crc, OfPiecesIsTheCrcOfTheWhole) {
    std::vector<std::byte> bytes(4099);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 3U);
    for (std::size_t cut = 0; cut <= bytes.size(); cut += cut < 20 ? 1 : 97) {
        const std::span all(bytes);
        EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c(all)) << cut;
        EXPECT_EQ(crc32c_joined(crc32c(all.first(cut)), crc32c(all.subspan(cut)), all.size() - cut), crc32c(all))
            << cut;
        EXPECT_EQ(crc32(all.subspan(cut), crc32(all.first(cut))), crc32(all)) << cut;
    }
}

}  // namespace
}  // namespace feedline
