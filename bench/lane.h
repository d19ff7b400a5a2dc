// The steps of one device, from being enqueued to being over: only what is over counts, whatever a device knows ahead.
//
// Not thread-safe. enqueued() and collect() use the device, so they belong to its enqueuing thread.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/timeline.h"
#include "cuda/device.h"
#include "cuda/ring.h"
#include "loaders/batch.h"
#include "loaders/failure.h"

namespace feedline {

// What a step moved, or steps together.
struct StepLoad {
    std::uint64_t samples = 0;  // without skipped
    std::uint64_t skipped_samples = 0;
    std::uint64_t batches_without_samples = 0;  // all were skipped
    std::uint64_t payload_bytes = 0;
    std::uint64_t h2d_bytes = 0;  // payload and padding
    FailureLog failures{};        // why samples were skipped
    StepLoad& operator+=(const StepLoad& other);
};

StepLoad load_of(const Batch& batch);

class Lane {
public:
    Lane(Device& device, std::uint64_t warmup_steps) : device_(device), timeline_(warmup_steps) {}

    Device& device() { return device_; }
    const Timeline& timeline() const { return timeline_; }
    const StepLoad& total() const { return total_; }  // of the steps that were over
    void begin(Nanoseconds t0_ns);

    // After Device::enqueue(): keeps what will be needed of `batch`, which may be released then.
    void enqueued(const Batch& batch);
    // A batch that came too late to be enqueued: the device waited for it all the same.
    void came_late(const Batch& batch);
    // Takes from the device what it knows by now.
    void collect();
    // Counts the steps that were over at `now_ns`.
    void settle(Nanoseconds now_ns);
    // Whether a step is left that is not over.
    bool pending() const { return !pending_.empty(); }
    // How much of the step that is under way at `now_ns` had passed, as far as the device knows; 0 without one.
    Nanoseconds under_way_ns(Nanoseconds now_ns);
    // Ends the epoch at `cut_ns`, after settle() and with something pending: see Timeline::cut().
    void cut(Nanoseconds cut_ns);
    // The same with nothing pending: the device waits for a batch that has its slot since `slot_ns` and is being read.
    void cut_waiting(Nanoseconds cut_ns, Nanoseconds slot_ns);

private:
    struct Pending {
        StepTimes times;
        Nanoseconds slot_ns = 0;
        StepLoad load;
        std::vector<RequestTrace> trace;
    };

    Pending& keep(const Batch& batch, bool with_trace);

    Device& device_;
    Timeline timeline_;
    StepLoad total_;
    Ring<Pending> pending_;
    std::size_t known_ = 0;         // the first of them, whose times the device has told
    Nanoseconds known_end_ns_ = 0;  // of the last step that the device has told
    std::vector<StepTimes> told_;   // scratch
    std::vector<std::vector<RequestTrace>> spare_;
};

}  // namespace feedline
