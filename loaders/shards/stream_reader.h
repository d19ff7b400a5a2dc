// Samples of shards through a stream of their bytes, as a plain sequential reader has them: what compressed shards
// need, and for others the yardstick of a reader that knows no index.
//
// Belongs to one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/shards/byte_stream.h"
#include "loaders/shards/shard_list.h"

namespace feedline {

class StreamReader final : public NativeReader {
public:
    // By shard; `access` holds null for those that are not compressed, and is empty where none are. Both must outlive
    // it.
    StreamReader(const std::vector<ShardFile>& shards, const std::vector<std::shared_ptr<const AccessPoints>>& access)
        : shards_(shards), access_(access) {}

    std::int64_t read(SampleId id, const Extent& extent, std::span<std::byte> destination) override;
    std::string problem() const override { return stream_ == nullptr ? std::string() : stream_->problem(); }

private:
    int open(ShardId shard);

    const std::vector<ShardFile>& shards_;
    const std::vector<std::shared_ptr<const AccessPoints>>& access_;
    std::unique_ptr<ByteStream> stream_;  // of one shard at a time
    ShardId shard_ = 0;
};

}  // namespace feedline
