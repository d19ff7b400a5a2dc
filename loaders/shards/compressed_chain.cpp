#include "loaders/shards/compressed_chain.h"

#include <fmt/format.h>

#include "core/error.h"
#include "loaders/shards/inflate_window.h"

namespace feedline {
namespace {

// What no dataset needs for a byte of a compressed file: who claims more would fill the memory with what is not there.
constexpr std::uint64_t kFewRecords = 1U << 16U;
constexpr std::uint64_t kFewNameBytes = 1U << 26U;
constexpr std::uint64_t kFileBytesARecord = 2;
constexpr std::uint64_t kNameBytesAFileByte = 16;

bool is_a_bomb(const Chain& chain, std::uint64_t file_bytes) {
    const std::uint64_t records = chain.links.size();
    const std::uint64_t name_bytes = chain.names.size();
    return (records > kFewRecords && records > file_bytes / kFileBytesARecord) ||
           (name_bytes > kFewNameBytes && name_bytes / kNameBytesAFileByte > file_bytes);
}

void drop_last(Chain& chain) {
    chain.end_bytes = chain.links.back().offset_bytes;
    chain.links.pop_back();
    chain.names.resize(chain.links.empty() ? 0 : chain.links.back().name_end);
}

void follow(const ChainFormat& format, InflateWindow& stream, Chain& chain) {
    NextRecord record;
    for (;;) {
        const Next next = format.next(stream, chain.end_bytes, 0, record, chain.fault);
        // Only now it shows whether the record before was there to its end.
        if (stream.size_bytes() < chain.end_bytes) {
            drop_last(chain);
            chain.fault = fmt::format("the stream ends {} bytes into a record", stream.size_bytes() - chain.end_bytes);
            return;
        }
        if (next == Next::fault) return;
        if (next == Next::end) {
            stream.finish();  // its checksum is at its end
            chain.finished = true;
            return;
        }
        chain.names += record.name;
        chain.links.push_back({chain.end_bytes, chain.names.size()});
        chain.end_bytes = record.end_bytes;
        if (is_a_bomb(chain, stream.file_position_bytes())) {
            chain.fault = fmt::format("{} records in {} compressed bytes are more than any dataset has",
                                      chain.links.size(), stream.file_position_bytes());
            return;
        }
    }
}

}  // namespace

CompressedChain walk_compressed(const ShardFile& shard, const ChainFormat& format, AccessPoints& access) {
    CompressedChain walked;
    Chain& chain = walked.chain;
    InflateWindow stream(shard.path, access);
    try {
        follow(format, stream, chain);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::corrupt) throw;
        chain.fault = error.message();
        if (!chain.links.empty() && stream.inflated_bytes() < chain.end_bytes) drop_last(chain);
    }
    walked.file_bytes = stream.file_position_bytes();
    return walked;
}

}  // namespace feedline
