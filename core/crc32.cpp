#include "core/crc32.h"

#if FEEDLINE_HAVE_ISAL
#include <isa-l/crc.h>
#else
#include "core/crc_table.h"
#endif

namespace feedline {

#if FEEDLINE_HAVE_ISAL

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc) {
    return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

#else

namespace {

constexpr CrcTable kTable = make_crc_table(0xedb88320);

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc) {
    return crc_by_table(kTable, bytes, crc);
}

#endif

}  // namespace feedline
