// CRC32C (Castagnoli, polynomial 0x1EDC6F41 reflected; RFC 3720, appendix B.4), the checksum of TFRecord and of our
// sidecars. isa-l where the build has it; otherwise a table, correct and slow.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace feedline {

// Of `bytes`, continuing what `crc` was of the bytes before them (0 before the first).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

// Of `first` followed by `second_bytes` bytes that are by themselves of `second`. Takes about a microsecond.
std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

// By processor instructions, at the speed of memory: checking every record costs little.
bool crc32c_is_fast();

}  // namespace feedline
