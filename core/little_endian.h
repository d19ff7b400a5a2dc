// Numbers in byte layouts: little-endian, at any address, on any machine.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace feedline {

// The first sizeof(T) of `bytes`, which must hold as many.
template <std::unsigned_integral T>
constexpr T load_le(std::span<const std::byte> bytes) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(bytes[i]) << (8 * i)));
    }
    return value;
}

template <std::unsigned_integral T>
constexpr void store_le(T value, std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<std::byte>((value >> (8 * i)) & 0xffU);
}

}  // namespace feedline
