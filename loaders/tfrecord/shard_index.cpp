#include "loaders/tfrecord/shard_index.h"

#include "loaders/tfrecord/record_chain.h"

namespace feedline::tfrecord {

ShardIndex index_shards(std::span<const ShardFile> shards, const ChainOptions& options) {
    ShardIndex index;
    index.oddities =
        walk_shards(shards, RecordChain(), options, [&](std::size_t /*shard*/, std::span<const WalkedRecord> records) {
            index.extents.begin_shard();
            for (const WalkedRecord& record : records) {
                index.extents.add(record.begin_bytes, record.end_bytes - record.begin_bytes);
            }
        });
    return index;
}

}  // namespace feedline::tfrecord
