// 64 bits that stand for many bytes: the same on every machine. Against accidents, not against an adversary.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "packers/generate/mix.h"

namespace feedline {

// FNV-1a with a last step that spreads every bit, continuing `so_far`.
constexpr std::uint64_t digest(std::string_view bytes, std::uint64_t so_far = 0) {
    std::uint64_t value = so_far ^ 0xcbf29ce484222325;
    for (const char c : bytes) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return mix64(value);
}

constexpr std::uint64_t digest(std::uint64_t number, std::uint64_t so_far) {
    return mix64(so_far * 0x100000001b3 + number);
}

}  // namespace feedline
