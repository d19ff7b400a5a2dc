#include "core/crc32c.h"

#if FEEDLINE_HAVE_ISAL
#include <isa-l/crc.h>

#include <algorithm>
#include <limits>
#else
#include "core/crc_table.h"
#endif

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
