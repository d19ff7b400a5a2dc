// One epoch: batches from a source, onto devices, and what the timeline says about it.
//
// Two threads: the caller's dispatches ready batches (batch k goes to device k mod D), the other waits for copies to
// end and releases host slots. Neither spins. Nothing here knows whether a device is real.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/timeline.h"
#include "core/interrupt.h"
#include "cuda/device.h"
#include "loaders/batch.h"

namespace feedline {

// Every sample once: a bitmap over the dataset. Not thread-safe.
class DeliveryAudit {
public:
    explicit DeliveryAudit(std::uint64_t samples) : seen_((samples + 63) / 64), samples_(samples) {}
    void deliver(std::span<const SampleView> samples);
    std::uint64_t delivered() const { return delivered_; }
    std::uint64_t skipped() const { return skipped_; }
    std::uint64_t repeated() const { return repeated_; }  // ids seen before, or out of range
    // None twice; and, when `expected` samples were due, delivered + skipped = expected.
    bool once(std::uint64_t expected) const { return repeated_ == 0 && delivered_ + skipped_ == expected; }

private:
    std::vector<std::uint64_t> seen_;
    std::uint64_t samples_;
    std::uint64_t delivered_ = 0;
    std::uint64_t skipped_ = 0;
    std::uint64_t repeated_ = 0;
};

struct Progress {
    std::uint64_t steps = 0;
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;
    Nanoseconds elapsed_ns = 0;  // since T0
    double idle_fraction = 0;    // so far
};

struct PipelineOptions {
    std::uint64_t max_steps = 0;  // 0: until the source ends
    Nanoseconds duration_ns = 0;  // 0: no limit; counted from T0
    std::uint64_t warmup_steps = 0;
    std::uint64_t max_batch_bytes = 0;
    bool keep_raw_steps = true;                     // EpochOutcome::step_ns
    std::function<void(const Progress&)> progress;  // may be empty; called at most every 100 ms, on the caller's thread
};

struct EpochOutcome {
    IdleFigures idle;
    std::uint64_t steps = 0;
    std::uint64_t samples = 0;  // delivered, without skipped
    std::uint64_t payload_bytes = 0;
    std::uint64_t h2d_bytes = 0;  // payload and padding
    std::uint64_t padding_bytes = 0;
    Nanoseconds oversleep_ns = 0;
    bool partial = false;                        // interrupted before the source ended
    std::vector<std::uint32_t> step_ns_clipped;  // raw e_i - e_{i-1} in ns, clipped to 32 bits, in batch order
};

// Runs until the source ends, `max_steps` or `duration` is reached, or `interrupt` is requested (partial = true;
// returns within 100 ms even when a read hangs). Rethrows the source's or a device's first error. `audit` may be null.
EpochOutcome run_epoch(BatchSource& source, std::span<const std::unique_ptr<Device>> devices,
                       const PipelineOptions& options, DeliveryAudit* audit, const Interrupt& interrupt);

}  // namespace feedline
