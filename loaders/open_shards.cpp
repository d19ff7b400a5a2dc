#include "loaders/open_shards.h"

#include <fcntl.h>

#include <cerrno>

#include "core/fd.h"
#include "loaders/engine/engine.h"

namespace feedline {
namespace {

Fd open_source(const Source& source, bool direct) {
    Fd fd(openat(source.dir_fd, source.name, open_flags(direct, true) | O_CLOEXEC));
    if (!fd && errno == EPERM) fd = Fd(openat(source.dir_fd, source.name, open_flags(direct, false) | O_CLOEXEC));
    return fd;
}

}  // namespace

OpenShards::OpenShards(const Dataset& dataset, bool direct, std::uint64_t budget)
    : dataset_(dataset), direct_(direct), left_(budget) {
    if (!dataset.info().packed) return;
    shards_ = dataset.info().shards;
    fds_ = std::make_unique<std::atomic<int>[]>(shards_);
    for (std::uint64_t shard = 0; shard < shards_; ++shard) fds_[shard].store(-1, std::memory_order_relaxed);
}

OpenShards::~OpenShards() {
    for (std::uint64_t shard = 0; shard < shards_; ++shard) const Fd closing(fds_[shard].load());
}

Source OpenShards::source(ShardId shard, std::string& scratch) {
    Source source = dataset_.source(shard, scratch);
    if (shards_ == 0) return source;
    const int held = fds_[shard].load(std::memory_order_acquire);
    if (held >= 0) {
        source.fd = held;
        return source;
    }
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    do {
        if (left == 0) return source;
    } while (!left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed));
    Fd fd = open_source(source, direct_);
    int none = -1;
    if (fd && fds_[shard].compare_exchange_strong(none, fd.get(), std::memory_order_acq_rel)) {
        source.fd = fd.release();
        return source;
    }
    // It cannot be opened, or another thread was first.
    left_.fetch_add(1, std::memory_order_relaxed);
    if (fd) source.fd = none;
    return source;
}

}  // namespace feedline
