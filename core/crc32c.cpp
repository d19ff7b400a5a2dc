#include "core/crc32c.h"

#if FEEDLINE_HAVE_ISAL
#include <isa-l/crc.h>

#include <algorithm>
#include <limits>
#else
#include "core/crc_table.h"
#endif

namespace feedline {
namespace {

// Polynomials over GF(2) modulo CRC32C's, the highest power in the lowest bit, as the checksum itself.
std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    constexpr std::uint32_t kPolynomial = 0x82f63b78;
    std::uint32_t product = 0;
    for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U) {
        if ((a & bit) != 0) product ^= b;
        b = (b & 1U) != 0 ? (b >> 1U) ^ kPolynomial : b >> 1U;
    }
    return product;
}

}  // namespace

// A checksum is the remainder of its message: what follows by n bytes multiplies it by x to the 8 n.
std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
    std::uint32_t power = 1U << 23U;  // x to the 8
    for (std::uint64_t n = second_bytes; n > 0; n >>= 1U) {
        if ((n & 1U) != 0) first = multiply(power, first);
        power = multiply(power, power);
    }
    return first ^ second;
}

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

constexpr CrcTable kTable = make_crc_table(0x82f63b78);

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
    return crc_by_table(kTable, bytes, crc);
}

bool crc32c_is_fast() {
    return false;
}

#endif

}  // namespace feedline
