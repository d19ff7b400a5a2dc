#include "loaders/lmdb/datum.h"

#if FEEDLINE_HAVE_PROTOBUF
#include "loaders/shards/wire.h"
#endif

namespace feedline::lmdb {

#if FEEDLINE_HAVE_PROTOBUF

std::optional<Datum> parse_datum(std::span<const std::byte> value) {
    using namespace wire;
    Datum datum;
    bool has_data = false;
    const bool well_formed = each_field(value, [&](std::uint32_t tag, CodedInputStream& in) {
        std::uint64_t number = 0;
        if (tag == length_delimited(4)) {
            has_data = true;
            return read_bytes(in, datum.data);
        }
        if (tag == tag_of(5, WireType::varint)) {
            if (!in.ReadVarint64(&number)) return false;
            datum.label = static_cast<std::int64_t>(number);
            return true;
        }
        if (tag == tag_of(7, WireType::varint)) {
            if (!in.ReadVarint64(&number)) return false;
            datum.encoded = number != 0;
            return true;
        }
        // Channels, height, width and float_data; whatever has other fields is another message.
        const std::uint32_t field = tag >> 3U;
        return field >= 1 && field <= 6 && skip(in, tag);
    });
    if (!well_formed || !has_data) return std::nullopt;
    return datum;
}

#else

std::optional<Datum> parse_datum(std::span<const std::byte> /*value*/) {
    return std::nullopt;
}

#endif

}  // namespace feedline::lmdb
