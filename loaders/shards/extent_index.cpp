#include "loaders/shards/extent_index.h"

#include <algorithm>

namespace feedline {

void ExtentIndex::begin_shard() {
    first_of_shard_.push_back(offsets_.size());
}

void ExtentIndex::add(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
    if (length_bytes >= kLong) long_.emplace(offsets_.size(), length_bytes);
    offsets_.push_back(offset_bytes);
    lengths_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(length_bytes, kLong)));
    bytes_ += length_bytes;
    max_length_bytes_ = std::max(max_length_bytes_, length_bytes);
}

SampleId ExtentIndex::first_sample(ShardId shard) const {
    return shard < first_of_shard_.size() ? first_of_shard_[shard] : samples();
}

// Empty shards begin where the next one does: the last of those that begin at or before `id` holds it.
ShardId ExtentIndex::shard_of(SampleId id) const {
    const auto after = std::upper_bound(first_of_shard_.begin(), first_of_shard_.end(), id);
    return static_cast<ShardId>(after - first_of_shard_.begin() - 1);
}

std::uint64_t ExtentIndex::length(SampleId id) const {
    return lengths_[id] == kLong ? long_.at(id) : lengths_[id];
}

Extent ExtentIndex::extent(SampleId id) const {
    return {offsets_[id], length(id), shard_of(id)};
}

void ExtentIndex::locate(std::span<const SampleId> ids, std::span<Extent> extents) const {
    constexpr std::size_t kAhead = 16;
    for (std::size_t k = 0; k < ids.size(); ++k) {
        if (k + kAhead < ids.size()) {
            __builtin_prefetch(&offsets_[ids[k + kAhead]]);
            __builtin_prefetch(&lengths_[ids[k + kAhead]]);
        }
        extents[k] = extent(ids[k]);
    }
}

}  // namespace feedline
