// Indexes that were made once and are kept, in a directory of their own: a file a shard.
//
//   "FLINDEX1" | identity: format, path, size, mtime, inode, CRC32C of the first and the last 4 KiB
//   records: how many, of each its offset and where its name ends; names; end of the last record
//   0, or 1 and access points: how many, of each: inflated, file, bits, gzip?, window
//   CRC32C of all before
//
// Numbers are little-endian and of 64 bits, texts and windows a length and bytes. What is kept counts only for a shard
// that is, byte for byte as far as can be seen cheaply, the one that was indexed; anything else is as if nothing were
// there. Nothing here fails: without a place to keep an index it is made anew.
//
// Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "loaders/shards/chain.h"

namespace feedline {

// What is known of a shard.
struct KnownShard {
    Chain chain;                           // finished, without a fault
    std::shared_ptr<AccessPoints> access;  // null: not compressed
};

class IndexCache {
public:
    // `tag` tells apart the formats that may index one file. An empty directory keeps nothing.
    IndexCache(std::string directory, std::string_view tag) : directory_(std::move(directory)), tag_(tag) {}

    // Which state of the shard is there, for the other two; empty where nothing is kept or it cannot be seen.
    std::string identity(const ShardFile& shard) const;
    std::optional<KnownShard> load(const ShardFile& shard, std::string_view identity) const;
    // If the shard is still the one whose `identity` was seen before it was indexed. Makes the directory where there is
    // none.
    void store(const ShardFile& shard, std::string_view identity, const KnownShard& known) const;

private:
    std::string file_for(const std::string& shard) const;

    std::string directory_;
    std::string tag_;
};

// $XDG_CACHE_HOME/feedline or ~/.cache/feedline; empty where neither is known.
std::string default_index_cache();

}  // namespace feedline
