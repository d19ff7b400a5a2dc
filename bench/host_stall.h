// Gaps in which this process did not run at all: suspended (Ctrl-Z, a paused machine) or starved of CPU. What the clock
// says of such a gap is no property of storage, CPU or loader.
#pragma once

#include <vector>

#include "core/clock.h"

namespace feedline {

// A thread that sleeps for a fixed time tells, after each sleep, when it should have woken and when it did. A sleeper
// that wakes far too late while its process used no CPU met a gap. One thread at a time.
class HostStalls {
public:
    // A loaded machine wakes sleepers late by milliseconds; nothing below this is a gap.
    static constexpr Nanoseconds kLeastNs = 250'000'000;

    // The sleep was to end at `due_ns` and ended at `woke_ns`; the process used `cpu_ns` of CPU time, all its threads
    // together, from the begin of the sleep on.
    void slept(Nanoseconds due_ns, Nanoseconds woke_ns, Nanoseconds cpu_ns);
    // For how long at least the process did not run between the two times.
    Nanoseconds between(Nanoseconds from_ns, Nanoseconds to_ns) const;

private:
    struct Gap {
        Nanoseconds from_ns;
        Nanoseconds to_ns;
        Nanoseconds ran_ns;  // within it, at most
    };
    std::vector<Gap> gaps_;
};

// CPU time of this process so far, all its threads together.
Nanoseconds process_cpu_ns();

}  // namespace feedline
