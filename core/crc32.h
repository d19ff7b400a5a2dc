// CRC-32 (IEEE 802.3, polynomial 0x04C11DB7 reflected), the checksum of ZIP and gzip. isa-l where the build has it;
// otherwise a table, correct and slow.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace feedline {

// Of `bytes`, continuing what `crc` was of the bytes before them (0 before the first).
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace feedline
