// A clock that jumps instead of sleeping, so that a test of times takes none and cannot be disturbed.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.h"

namespace feedline::test {

// Thread-safe. sleep_until() moves the time on to the deadline, for every thread at once, plus `oversleep`.
class ManualClock final : public Clock {
public:
    explicit ManualClock(Nanoseconds start = 0) : now_(start) {}

    Nanoseconds now() override { return now_.load(); }
    void sleep_until(Nanoseconds deadline) override;

    void advance_to(Nanoseconds time);                   // never back
    void oversleep(Nanoseconds by) { oversleep_ = by; }  // how late every later sleep wakes
    std::uint64_t sleeps() const { return sleeps_; }     // calls of sleep_until()

private:
    std::atomic<Nanoseconds> now_;
    std::atomic<Nanoseconds> oversleep_{0};
    std::atomic<std::uint64_t> sleeps_{0};
};

}  // namespace feedline::test
