// At most so many bytes a second, over all who write.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>

#include "core/clock.h"
#include "core/interrupt.h"

namespace feedline {

class RateLimit {
public:
    // `bytes_per_second` 0: no limit. The interrupt ends a wait early, and lets everything pass after it.
    RateLimit(double bytes_per_second, const Interrupt& interrupt)
        : bytes_per_second_(bytes_per_second), interrupt_(interrupt) {}

    // Waits until `bytes` more may be written.
    void take(std::uint64_t bytes);

private:
    double bytes_per_second_;
    const Interrupt& interrupt_;
    std::mutex mutex_;
    Nanoseconds free_from_ns_ = 0;  // when all that was taken has been paid for
};

}  // namespace feedline
