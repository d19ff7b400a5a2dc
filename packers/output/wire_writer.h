// Protobuf messages field by field (https://protobuf.dev/programming-guides/encoding/), for messages around bytes that
// come later, which the library's own classes would hold in memory.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace feedline::wire {

inline void put_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) out += static_cast<char>(value | 0x80U);
    out += static_cast<char>(value);
}

constexpr std::size_t varint_size(std::uint64_t value) {
    std::size_t size = 1;
    for (; value >= 0x80; value >>= 7U) ++size;
    return size;
}

// Of a length-delimited field of a number below 16, with its tag and its length.
constexpr std::uint64_t field_size(std::uint64_t bytes) {
    return 1 + varint_size(bytes) + bytes;
}

// Its tag and its length; the bytes follow.
inline void open_field(std::string& out, unsigned field, std::uint64_t bytes) {
    constexpr unsigned kLengthDelimited = 2;
    put_varint(out, field << 3U | kLengthDelimited);
    put_varint(out, bytes);
}

inline void put_field(std::string& out, unsigned field, std::string_view bytes) {
    open_field(out, field, bytes.size());
    out += bytes;
}

inline void put_number(std::string& out, unsigned field, std::uint64_t value) {
    put_varint(out, field << 3U);
    put_varint(out, value);
}

}  // namespace feedline::wire
