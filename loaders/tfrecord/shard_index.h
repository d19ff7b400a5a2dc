// Where the records of TFRecord shards lie, found by reading their headers.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/shards/chain.h"
#include "loaders/shards/extent_index.h"
#include "loaders/shards/shard_list.h"

namespace feedline::tfrecord {

struct ShardIndex {
    ExtentIndex extents;  // header and footer belong to the record, so that neighbours touch
    std::vector<Oddity> oddities;
    std::vector<std::shared_ptr<const AccessPoints>> access;  // of compressed shards, as walk_shards() gives it
};

// Throws what walk_shards() throws.
ShardIndex index_shards(std::span<const ShardFile> shards, const ChainOptions& options);

}  // namespace feedline::tfrecord
