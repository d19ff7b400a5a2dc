#include "packers/output/rate_limit.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace feedline {
namespace {

// Who may be interrupted must not sleep for long at a time.
constexpr Nanoseconds kNapNs = 50'000'000;

}  // namespace

void RateLimit::take(std::uint64_t bytes) {
    if (bytes_per_second_ <= 0) return;
    Nanoseconds until = 0;
    {
        const std::lock_guard lock(mutex_);
        const Nanoseconds start = std::max(free_from_ns_, now_ns());
        until = start;  // the first to come need not wait, who comes after waits for it
        free_from_ns_ = start + static_cast<Nanoseconds>(static_cast<double>(bytes) / bytes_per_second_ *
                                                         static_cast<double>(kNanosecondsPerSecond));
    }
    while (!interrupt_.requested()) {
        const Nanoseconds left = until - now_ns();
        if (left <= 0) return;
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kNapNs)));
    }
}

}  // namespace feedline
