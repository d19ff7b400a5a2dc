// One epoch: batches from a source, onto devices, and what the timeline says about it.
//
//     source.next() -> device[k mod D].enqueue(k)      the dispatching thread
//     source.release_at(k), or where the end of a copy is not known ahead
//     device.wait_copied(k) -> source.release(k)       the releasing thread
//     interrupt, duration, progress                    the caller's thread, every 50 ms
//
// So nothing that blocks (a slow read, a step of seconds) keeps the caller from hearing of an interrupt. No thread
// spins. Nothing here knows whether a device is real.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/audit.h"
#include "bench/timeline.h"
#include "core/clock.h"
#include "core/interrupt.h"
#include "cuda/device.h"
#include "loaders/batch.h"

namespace feedline {

// Of what has happened by now: steps that lie ahead, which an emulated device knows already, do not count.
struct Progress {
    std::uint64_t steps = 0;  // that are over
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;
    Nanoseconds elapsed_ns = 0;  // since T0
    double idle_fraction = 0;    // so far; the step under way is busy as far as the device can tell
};

struct PipelineOptions {
    std::uint64_t max_steps = 0;     // of all devices together; 0: until the source ends
    Nanoseconds duration_ns = 0;     // 0: no limit; the epoch is cut so long after T0
    std::uint64_t warmup_steps = 0;  // of all devices together
    std::uint64_t max_batch_bytes = 0;
    bool keep_raw_steps = true;                     // EpochOutcome::step_ns
    std::function<void(const Progress&)> progress;  // may be empty; called at most every 100 ms, on the caller's thread
    Clock* clock = nullptr;                         // the devices'; null: the monotonic one
};

// An epoch that is cut short (by `duration_ns`, an interrupt) counts what had happened by the cut: the steps that were
// over by then, and as idle the part of a gap under way. The part of a step under way counts nowhere, as its samples do
// not: rates and times are of the same steps (timeline.h).
struct EpochOutcome {
    IdleFigures idle;
    std::uint64_t steps = 0;
    std::uint64_t steps_without_samples = 0;  // every sample of theirs was skipped; idle time
    std::uint64_t samples = 0;                // of these steps, without skipped
    std::uint64_t skipped_samples = 0;
    std::vector<Oddity> failures;  // why these were skipped, by kind
    std::uint64_t payload_bytes = 0;
    std::uint64_t h2d_bytes = 0;  // payload and padding
    std::uint64_t padding_bytes = 0;
    std::uint64_t handed_over_batches = 0;  // what the audit has seen: the steps, and with a cut those that lay ahead
    Nanoseconds oversleep_ns = 0;
    Nanoseconds host_stall_ns = 0;     // for which this process did not run at all, at least (HostStalls)
    bool partial = false;              // interrupted before the last step was over
    std::vector<Nanoseconds> step_ns;  // raw e_i - e_{i-1} of these steps, in batch order; the step before is the same
                                       // device's, the first counts from T0
};

// Runs until the source ends, `max_steps` or `duration` is reached, or `interrupt` is requested (partial = true).
// Returns within 100 ms of an interrupt or of `duration`, even when a read hangs, if the device can abandon its steps.
// Rethrows the first error of source, device or progress callback, after both threads have ended. `audit` may be null.
// At least one device.
EpochOutcome run_epoch(BatchSource& source, std::span<const std::unique_ptr<Device>> devices,
                       const PipelineOptions& options, DeliveryAudit* audit, const Interrupt& interrupt);

}  // namespace feedline
