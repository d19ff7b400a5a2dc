#include "loaders/tfrecord/shard_index.h"

#include <utility>

#include "loaders/tfrecord/record_chain.h"

namespace feedline::tfrecord {

ShardIndex index_shards(std::span<const ShardFile> shards, const ChainOptions& options) {
    ShardIndex index;
    WalkedShards walked =
        walk_shards(shards, RecordChain(), options, [&](std::size_t /*shard*/, std::span<const WalkedRecord> records) {
            index.extents.begin_shard();
            for (const WalkedRecord& record : records) {
                index.extents.add(record.begin_bytes, record.end_bytes - record.begin_bytes);
            }
        });
    index.oddities = std::move(walked.oddities);
    index.access = std::move(walked.access);
    return index;
}

}  // namespace feedline::tfrecord
