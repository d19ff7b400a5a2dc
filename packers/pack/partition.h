// Which samples go into which shard, decided before the first byte is written: so any number of threads writes the same
// bytes, and the number of shards can stand in their names.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

// Samples [first, first + count) of the packed dataset's order.
struct ShardRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;  // of their records in the source
};

struct PartitionOptions {
    std::uint64_t shard_bytes =
        0;  // a shard is closed before it would become larger; a larger sample has one to itself
    std::uint64_t shard_samples = 0;  // at most so many in one
    std::uint64_t shards = 0;         // not 0: exactly so many, of about equal size, whatever the others say
};

// The id of the sample at each position of the packed order.
using SampleAt = std::function<SampleId(std::uint64_t position)>;

// Throws Error{usage} for more shards than samples.
std::vector<ShardRange> partition(const Dataset& source, const SampleAt& sample_at, const PartitionOptions& options);

}  // namespace feedline
