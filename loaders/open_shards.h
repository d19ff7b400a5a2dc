// The descriptors of a dataset's shards while a Loader reads them. Where many samples lie in a shard, it is opened by
// the first read of it and stays open; a file that is one sample is opened with its read, and this stays out of the
// way.
//
// Thread-safety: source() may be called from any thread at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "loaders/dataset.h"

namespace feedline {

class OpenShards {
public:
    // Opens nothing. `dataset` must outlive it. `direct`: with O_DIRECT, for engines that read so. At most `budget`
    // descriptors are held.
    OpenShards(const Dataset& dataset, bool direct, std::uint64_t budget);
    ~OpenShards();
    OpenShards(const OpenShards&) = delete;
    OpenShards& operator=(const OpenShards&) = delete;

    // As Dataset::source(). By name, which the engine will try to open and say why it cannot, where opening fails or
    // the budget is spent.
    Source source(ShardId shard, std::string& scratch);
    // Whether source() would open the shard, and so may wait for the storage.
    bool opens(ShardId shard) const { return shards_ > 0 && fds_[shard].load(std::memory_order_relaxed) < 0; }

private:
    const Dataset& dataset_;
    bool direct_;
    std::uint64_t shards_ = 0;                 // 0: nothing is held open
    std::atomic<std::uint64_t> left_;          // of the budget
    std::unique_ptr<std::atomic<int>[]> fds_;  // by shard; -1: not open
};

}  // namespace feedline
