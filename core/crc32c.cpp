#include "core/crc32c.h"

#if FEEDLINE_HAVE_ISAL
#include <isa-l/crc.h>
#endif

#include <algorithm>
#include <array>
#include <limits>

namespace feedline {

#if FEEDLINE_HAVE_ISAL

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
    // The library takes an int of bytes and, though it only reads, no const.
    constexpr std::size_t kPiece = std::numeric_limits<int>::max();
    auto* at = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    unsigned state = ~crc;
    for (std::size_t left = bytes.size(); left > 0;) {
        const std::size_t piece = std::min(left, kPiece);
        state = crc32_iscsi(at, static_cast<int>(piece), state);
        at += piece;
        left -= piece;
    }
    return ~state;
}

bool crc32c_is_fast() {
    return true;
}

#else

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
    constexpr std::uint32_t kReflectedPolynomial = 0x82f63b78;
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kReflectedPolynomial : 0);
        table[byte] = crc;
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
    std::uint32_t state = ~crc;
    for (const std::byte byte : bytes) {
        state = (state >> 8U) ^ kTable[(state ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
    }
    return ~state;
}

bool crc32c_is_fast() {
    return false;
}

#endif

}  // namespace feedline
