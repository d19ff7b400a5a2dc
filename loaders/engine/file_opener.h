// Opening a data file by name for the synchronous engines. Not thread-safe.
#pragma once

#include <cstdint>

#include "loaders/engine/engine.h"

namespace feedline {

class FileOpener {
public:
    explicit FileOpener(FaultHook* faults) : faults_(faults) {}

    // A descriptor that the caller closes, or -errno. Counts into `counters`.
    int open(const Source& source, std::uint64_t tag, EngineCounters& counters);

private:
    FaultHook* faults_;
    // Reading must not write: without it each first read dirties an inode. Only owners and root may ask for it.
    bool noatime_ = true;
};

}  // namespace feedline
