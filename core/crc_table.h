// The table of a 32-bit CRC, byte by byte: for builds without isa-l.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace feedline {

using CrcTable = std::array<std::uint32_t, 256>;

constexpr CrcTable make_crc_table(std::uint32_t reflected_polynomial) {
    CrcTable table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? reflected_polynomial : 0);
        table[byte] = crc;
    }
    return table;
}

// Continues `crc`, which begins and ends inverted.
inline std::uint32_t crc_by_table(const CrcTable& table, std::span<const std::byte> bytes, std::uint32_t crc) {
    std::uint32_t state = ~crc;
    for (const std::byte byte : bytes) {
        state = (state >> 8U) ^ table[(state ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
    }
    return ~state;
}

}  // namespace feedline
