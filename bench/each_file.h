// A visit to every file of a dataset by several threads, with progress and a way out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "bench/coldness.h"
#include "core/interrupt.h"
#include "loaders/dataset.h"

namespace feedline {

// Calls `visit(fd, stop)` with a descriptor of each shard, from any of the threads; `stop()` true asks it to return
// early. `shards` empty: all of them. Returns how many could not be opened. Throws Error{interrupted}, or the first
// exception of a visit, once every thread has ended.
using FileVisit = std::function<void(int fd, const std::function<bool()>& stop)>;
std::uint64_t for_each_file(const Dataset& dataset, std::span<const ShardId> shards, unsigned threads,
                            const CacheProgressFn& progress, const Interrupt& interrupt, const FileVisit& visit);

}  // namespace feedline
