// The read that a worker has had in flight longest, for whoever looks for hung reads from outside: a thread in a hung
// read can take no lock and tell nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.h"
#include "loaders/dataset.h"

namespace feedline {

struct OldestRead {
    Nanoseconds since_ns = 0;  // 0: nothing in flight
    ShardId shard = 0;
    std::uint64_t offset_bytes = 0;
};

// One thread publishes, any look. What is seen was published so, all three together. No locks: look() begins anew where
// it met one half written.
class PublishedOldestRead {
public:
    void publish(const OldestRead& oldest) {
        const std::uint32_t version = version_.load(std::memory_order_relaxed);
        version_.store(version + 1);
        since_ns_.store(oldest.since_ns);
        shard_.store(oldest.shard);
        offset_bytes_.store(oldest.offset_bytes);
        version_.store(version + 2);
    }

    OldestRead look() const {
        while (true) {
            const std::uint32_t version = version_.load();
            const OldestRead oldest{since_ns_.load(), shard_.load(), offset_bytes_.load()};
            if (version % 2 == 0 && version_.load() == version) return oldest;
        }
    }

private:
    std::atomic<std::uint32_t> version_{0};  // odd: being written
    std::atomic<Nanoseconds> since_ns_{0};
    std::atomic<ShardId> shard_{0};
    std::atomic<std::uint64_t> offset_bytes_{0};
};

}  // namespace feedline
