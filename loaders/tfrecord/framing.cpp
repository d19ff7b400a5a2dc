#include "loaders/tfrecord/framing.h"

#include "core/crc32c.h"
#include "core/little_endian.h"

namespace feedline::tfrecord {

namespace {

std::uint32_t masked(std::uint32_t crc) {
    constexpr std::uint32_t kMaskDelta = 0xa282ead8;
    return ((crc >> 15U) | (crc << 17U)) + kMaskDelta;
}

}  // namespace

std::uint32_t masked_crc(std::span<const std::byte> bytes) {
    return masked(crc32c(bytes));
}

std::optional<std::uint64_t> parse_header(std::span<const std::byte, kHeaderBytes> header) {
    if (masked_crc(header.first<8>()) != load_le<std::uint32_t>(header.last<4>())) return std::nullopt;
    return load_le<std::uint64_t>(header.first<8>());
}

std::array<std::byte, kHeaderBytes> make_header(std::uint64_t length_bytes) {
    std::array<std::byte, kHeaderBytes> header{};
    const std::span bytes(header);
    store_le(length_bytes, bytes.first<8>());
    store_le(masked_crc(bytes.first<8>()), bytes.last<4>());
    return header;
}

std::array<std::byte, kFooterBytes> make_footer(std::span<const std::byte> payload) {
    return make_footer(crc32c(payload));
}

std::array<std::byte, kFooterBytes> make_footer(std::uint32_t payload_crc32c) {
    std::array<std::byte, kFooterBytes> footer{};
    store_le(masked(payload_crc32c), footer);
    return footer;
}

bool footer_fits(std::span<const std::byte> payload, std::span<const std::byte, kFooterBytes> footer) {
    return masked_crc(payload) == load_le<std::uint32_t>(footer);
}

}  // namespace feedline::tfrecord
