// Protobuf messages field by field, where they lie and without copying: what Example and Datum need. For builds with
// protobuf only.
//
// Thread-safety: pure functions.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace feedline::wire {

using google::protobuf::io::CodedInputStream;

// https://protobuf.dev/programming-guides/encoding/
enum class WireType : std::uint32_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

constexpr std::uint32_t tag_of(std::uint32_t field, WireType type) {
    return field << 3U | static_cast<std::uint32_t>(type);
}

constexpr std::uint32_t length_delimited(std::uint32_t field) {
    return tag_of(field, WireType::length_delimited);
}

// A view of the next length-delimited field's bytes.
inline bool read_bytes(CodedInputStream& in, std::span<const std::byte>& out) {
    std::uint32_t length = 0;
    if (!in.ReadVarint32(&length)) return false;
    const void* data = nullptr;
    int available = 0;
    if (length == 0) {
        out = {};
        return true;
    }
    if (!in.GetDirectBufferPointer(&data, &available) || static_cast<std::uint32_t>(available) < length) return false;
    out = {static_cast<const std::byte*>(data), length};
    return in.Skip(static_cast<int>(length));
}

// Calls on_field(tag, in) for each field of `message`; false when it is not well-formed or on_field says so. on_field
// must consume the field.
template <typename OnField>
bool each_field(std::span<const std::byte> message, const OnField& on_field) {
    if (message.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
    CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()), static_cast<int>(message.size()));
    for (;;) {
        const std::uint32_t tag = in.ReadTag();
        if (tag == 0) return in.ConsumedEntireMessage();
        if (!on_field(tag, in)) return false;
    }
}

// Groups are as old as protobuf and in no Example: what has one is something else.
inline bool skip(CodedInputStream& in, std::uint32_t tag) {
    std::uint64_t number = 0;
    std::span<const std::byte> bytes;
    switch (static_cast<WireType>(tag & 7U)) {
        case WireType::varint: return in.ReadVarint64(&number);
        case WireType::fixed64: return in.ReadLittleEndian64(&number);
        case WireType::length_delimited: return read_bytes(in, bytes);
        case WireType::fixed32: return in.Skip(4);
    }
    return false;
}

}  // namespace feedline::wire
