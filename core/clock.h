// Time. Everything measured lies on CLOCK_MONOTONIC, in nanoseconds.
#pragma once

#include <cstdint>

namespace feedline {

using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kNanosecondsPerSecond = 1'000'000'000;

// CLOCK_MONOTONIC now. About 20 to 40 ns through the vDSO.
Nanoseconds now_ns();

inline double to_seconds(Nanoseconds ns) {
    return static_cast<double>(ns) * 1e-9;
}

// The clock a device waits on. A test substitutes one that jumps instead of sleeping.
// Thread-safe.
class Clock {
public:
    virtual ~Clock() = default;
    virtual Nanoseconds now() = 0;
    // Returns at or after `deadline`; never earlier. Does not spin.
    virtual void sleep_until(Nanoseconds deadline) = 0;
};

class MonotonicClock final : public Clock {
public:
    Nanoseconds now() override { return now_ns(); }
    void sleep_until(Nanoseconds deadline) override;
};

}  // namespace feedline
