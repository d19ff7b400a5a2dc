// Which labels came of the samples of a shard, or of many: what a person should hear of them.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "packers/packer.h"

namespace feedline {

struct LabelCount {
    std::uint64_t without = 0;
    std::uint64_t with = 0;
    std::uint64_t not_kept = 0;  // that are in the sidecars alone, for the format has no place for them
    std::string first_not_kept;  // path of one of those samples

    void add(const SampleHead& head, const Packer& packer);
    void add(const LabelCount& more);
    // What to say of a dataset in the packer's format.
    std::vector<std::string> notes(const Packer& packer) const;
};

// Thread-safe.
class LabelCounts {
public:
    void add(const LabelCount& shard) {
        const std::lock_guard lock(mutex_);
        all_.add(shard);
    }
    LabelCount all() const {
        const std::lock_guard lock(mutex_);
        return all_;
    }

private:
    mutable std::mutex mutex_;
    LabelCount all_;
};

}  // namespace feedline
