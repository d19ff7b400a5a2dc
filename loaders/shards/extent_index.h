// Where every sample of a packed dataset lies: 12 bytes a sample, whatever the format.
//
// Thread-safety: built by one thread, then const members may be called from any thread at once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

class ExtentIndex {
public:
    // Shards in order, each with its records in the order of their samples.
    void begin_shard();
    void add(std::uint64_t offset_bytes, std::uint64_t length_bytes);

    std::uint64_t samples() const { return offsets_.size(); }
    std::uint64_t shards() const { return first_of_shard_.size(); }
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t max_length_bytes() const { return max_length_bytes_; }
    // The first sample of `shard`; of shards(): samples().
    SampleId first_sample(ShardId shard) const;

    Extent extent(SampleId id) const;
    // extents[k] = that of ids[k]; spans of equal length.
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const;

private:
    ShardId shard_of(SampleId id) const;
    std::uint64_t length(SampleId id) const;

    static constexpr std::uint32_t kLong = UINT32_MAX;  // the length is in long_

    std::vector<std::uint64_t> offsets_;
    std::vector<std::uint32_t> lengths_;
    std::unordered_map<SampleId, std::uint64_t> long_;
    std::vector<SampleId> first_of_shard_;
    std::uint64_t bytes_ = 0;
    std::uint64_t max_length_bytes_ = 0;
};

}  // namespace feedline
