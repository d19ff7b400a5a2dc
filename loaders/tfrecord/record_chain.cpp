#include "loaders/tfrecord/record_chain.h"

#include <fmt/format.h>

#include "core/little_endian.h"
#include "loaders/shards/index_file.h"

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
    // What is no length at all costs no checksum, nor do zeros, of which payloads may have very many: the checksum of a
    // length of nothing is another.
    const auto length = load_le<std::uint64_t>(header);
    if (length == 0 && load_le<std::uint32_t>(header.subspan<8>()) == 0) return false;
    return length <= file_bytes && parse_header(header.first<kHeaderBytes>()).has_value();
}

bool RecordChain::read_index(std::string_view text, Window& shard, Chain& chain, std::string& why) const {
    std::size_t line = 0;
    while (!text.empty()) {
        ++line;
        Words words(take_line(text));
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        if (!words.number(offset) || !words.number(size) || !words.next().empty()) {
            why = fmt::format("line {} is no offset and size", line);
            return false;
        }
        if (offset != chain.end_bytes || size < kFramingBytes || size > shard.size_bytes() - offset) {
            why = fmt::format("its record {} does not lie in the shard behind the one before", line);
            return false;
        }
        chain.links.push_back({offset, 0});
        chain.end_bytes += size;
    }
    if (chain.end_bytes != shard.size_bytes()) {
        why = fmt::format("it covers {} of {} bytes", chain.end_bytes, shard.size_bytes());
        return false;
    }
    for (const std::size_t i : some_of(chain.links.size())) {
        const std::uint64_t begin = chain.links[i].offset_bytes;
        const std::uint64_t end = i + 1 < chain.links.size() ? chain.links[i + 1].offset_bytes : chain.end_bytes;
        NextRecord record;
        if (next(shard, begin, 0, record, why) == Next::record && record.end_bytes == end) continue;
        why = fmt::format("its record {} is none in the shard", i + 1);
        return false;
    }
    return true;
}

}  // namespace feedline::tfrecord
