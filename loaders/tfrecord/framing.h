// TFRecord's framing (https://www.tensorflow.org/tutorials/load_data/tfrecord, "TFRecords format details"): u64 length,
// u32 masked CRC32C of those 8 bytes, payload, u32 masked CRC32C of the payload; all little-endian.
//
// Thread-safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace feedline::tfrecord {

constexpr std::uint64_t kHeaderBytes = 12;
constexpr std::uint64_t kFooterBytes = 4;
constexpr std::uint64_t kFramingBytes = kHeaderBytes + kFooterBytes;

// The CRC32C as it is stored: rotated and shifted, so that a CRC of bytes that hold CRCs stays sound.
std::uint32_t masked_crc(std::span<const std::byte> bytes);

// The payload's length, if the header's checksum is right.
std::optional<std::uint64_t> parse_header(std::span<const std::byte, kHeaderBytes> header);

std::array<std::byte, kHeaderBytes> make_header(std::uint64_t length_bytes);
std::array<std::byte, kFooterBytes> make_footer(std::span<const std::byte> payload);
std::array<std::byte, kFooterBytes> make_footer(std::uint32_t payload_crc32c);

// Whether a payload and the four bytes after it belong together.
bool footer_fits(std::span<const std::byte> payload, std::span<const std::byte, kFooterBytes> footer);

}  // namespace feedline::tfrecord
