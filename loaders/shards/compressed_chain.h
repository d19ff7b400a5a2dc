// A compressed shard's records, found while it is inflated once from its start to its end.
//
// Thread-safety: functions work on their arguments alone.
#pragma once

#include "loaders/shards/chain.h"
#include "loaders/shards/inflate.h"

namespace feedline {

struct CompressedChain {
    Chain chain;
    std::uint64_t file_bytes = 0;  // where in the file its fault is, or before
};

// Offsets are in what the shard inflates to. `access` takes the places where one can begin later. A fault, of the
// records or of the compressed stream, ends the chain; only whole records are in it. Memory grows with the file's own
// size at most, whatever it inflates to. Throws Error{io, unsupported}.
CompressedChain walk_compressed(const ShardFile& shard, const ChainFormat& format, AccessPoints& access);

}  // namespace feedline
