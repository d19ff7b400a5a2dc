// How long the controls may take: by what the measurement itself took, and never less than a steady figure needs.
// Arithmetic only.
#pragma once

#include <cstdint>

#include "core/clock.h"

namespace feedline {

// A bound on one pass: whichever comes first ends it.
struct PassBound {
    std::uint64_t steps = 0;      // of all accelerators together; 0: none
    Nanoseconds duration_ns = 0;  // since the first read
};

struct ControlBounds {
    static constexpr std::uint64_t kNullStorageSteps = 2000;  // enough to meet the rare stall of a virtual machine

    PassBound null_storage_rate;  // at step time 0
    PassBound null_storage;       // at the run's step time; unused where that is 0, as below
    Nanoseconds null_step_ns = 0;
    Nanoseconds warming_ns = 0;  // reading in what the warm control reads again
    PassBound warm_rate;
    PassBound warm;
    PassBound serial;  // at the run's step time, or without steps where that is 0 or
    bool serial_without_steps =
        false;  // the steps are too long to be waited for: as nothing overlaps, they only add up

    // All of them together, with `prepare_ns` for each time the cache is brought into its state again. A pass may
    // overrun its bound by the steps that are under way.
    Nanoseconds at_most_ns(Nanoseconds step_ns, Nanoseconds prepare_ns) const;
};

// `measured_ns` is the length of the measured epoch, T1 - T0; `warmup_steps` as in the options, of all accelerators.
ControlBounds control_bounds(Nanoseconds measured_ns, Nanoseconds step_ns, unsigned accelerators,
                             std::uint64_t warmup_steps);

}  // namespace feedline
