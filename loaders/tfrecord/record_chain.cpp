#include "loaders/tfrecord/record_chain.h"

#include <fmt/format.h>

#include "core/little_endian.h"

namespace feedline::tfrecord {

Next RecordChain::next(Window& file, std::uint64_t offset_bytes, std::size_t ahead, NextRecord& record,
                       std::string& what) const {
    const std::uint64_t left = file.size_bytes() - offset_bytes;
    if (left == 0) return Next::end;
    const std::span<const std::byte> bytes = file.at(offset_bytes, kHeaderBytes, ahead);
    if (bytes.empty()) return Next::end;
    if (bytes.size() < kHeaderBytes) {
        what = fmt::format("the file ends inside a record's header, of which {} bytes are there", bytes.size());
        return Next::fault;
    }
    const std::optional<std::uint64_t> length = parse_header(bytes.first<kHeaderBytes>());
    if (!length) {
        what = "the checksum of a record's length does not match";
        return Next::fault;
    }
    if (left < kFramingBytes || *length > left - kFramingBytes) {
        what = fmt::format("a record of {} bytes begins here, and the file ends {} bytes on", *length, left);
        return Next::fault;
    }
    record.end_bytes = offset_bytes + *length + kFramingBytes;
    return Next::record;
}

bool RecordChain::may_be_header(std::span<const std::byte> header, std::uint64_t file_bytes) const {
    // What is no length at all costs no checksum.
    return load_le<std::uint64_t>(header) <= file_bytes && parse_header(header.first<kHeaderBytes>()).has_value();
}

}  // namespace feedline::tfrecord
