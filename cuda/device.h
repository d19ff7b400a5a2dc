// The accelerator, as the pipeline sees it. Plain C++: no CUDA header is needed to use it.
//
// Batch i is copied to the device and then consumed by one training step. With N slots there are N host slots (the
// loader's) and N device buffers: a host slot is free at ce_i, a device buffer at e_i, so
//     cs_i = max(h_i, ce_{i-1}, e_{i-N})        s_i >= max(e_{i-1}, ce_i)
// Copies run on a stream of their own, steps on another.
//
// Threads: enqueue() from one thread, wait_copied() from one other; collect() from the enqueuing thread. drain() after
// the last enqueue().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/slab.h"

namespace feedline {

enum class DeviceKind { emulated, cuda };
enum class StepKernel { spin, gemm };

// The life of one batch on the device, on the host's CLOCK_MONOTONIC.
struct StepTimes {
    std::uint64_t index = 0;        // of the batch, as enqueued
    Nanoseconds ready_ns = 0;       // h_i
    Nanoseconds copy_start_ns = 0;  // cs_i
    Nanoseconds copy_end_ns = 0;    // ce_i
    Nanoseconds start_ns = 0;       // s_i
    Nanoseconds end_ns = 0;         // e_i
};

struct DeviceOptions {
    DeviceKind kind = DeviceKind::emulated;
    int ordinal = 0;          // cuda: which GPU; emulated: a number for the name
    unsigned slots = 8;       // device buffers, >= 1
    Nanoseconds step_ns = 0;  // length of a training step
    StepKernel step_kernel = StepKernel::spin;
    // The `serial` control: copies and steps on one stream, and the host waits for that stream, so that a host slot is
    // free at e_i and nothing overlaps.
    bool serial = false;
    // emulated only:
    double h2d_bytes_per_second = 25e9;
    Nanoseconds h2d_latency_ns = 10'000;
};

class Device {
public:
    virtual ~Device() = default;

    virtual DeviceKind kind() const = 0;
    virtual std::string name() const = 0;  // "emulated accelerator", "NVIDIA H200"

    // Staging memory that copies to this device can use without a bounce. May be shared by several devices of one kind.
    // It must live until every device that copies from it was drained or destroyed.
    virtual std::shared_ptr<Slab> make_slab(std::uint64_t bytes) = 0;

    // Before the first enqueue() of an epoch; `max_batch_bytes` sizes the device buffers. The device is idle.
    virtual void begin_epoch(std::uint64_t max_batch_bytes) = 0;

    // Copies [data, data + bytes) of the slab, then runs one step. Blocks at most until a device buffer can be waited
    // for on the device itself, never for a step. Throws on a device error.
    virtual void enqueue(std::uint64_t index, const std::byte* data, std::uint64_t bytes, Nanoseconds ready_ns) = 0;

    // Blocks until the copy of batch `index` is complete (ce_i; e_i in serial mode), so that its host slot can be
    // refilled. Indices increase. Returns by how much it woke after that (>= 0), as far as it can know; the sum is
    // `oversleep_seconds`.
    virtual Nanoseconds wait_copied(std::uint64_t index) = 0;

    // In place of wait_copied(), for the batch enqueued last: when it would return, where the device knows that ahead.
    // Then nobody need wait, and wait_copied() must not be called for this batch. Absent: it must. From the enqueuing
    // thread.
    virtual std::optional<Nanoseconds> copied_at_ns(std::uint64_t /*index*/) { return std::nullopt; }

    // Appends the times of steps that are known and were not collected yet, in order. The emulated device knows them
    // when they are enqueued, so its end_ns may lie in the future.
    virtual void collect(std::vector<StepTimes>& out) = 0;

    // Blocks until everything enqueued is over; collect() then yields the rest.
    virtual void drain() = 0;

    // A run that is interrupted or out of time does not wait for the steps that lie ahead: from now until the next
    // begin_epoch(), the step under way is stopped, queued ones are dropped and further ones not begun, and
    // wait_copied() and drain() return within 50 ms, also those under way. They still wait for real copies out of the
    // slab, and for steps that cannot be stopped once they were enqueued (StepKernel::gemm). collect() still yields
    // every step, with the end it would have had, so that the run can tell what was over by the cut. Any thread, more
    // than once.
    virtual void cut() = 0;
};

// The emulated accelerator; its timeline is computed, not slept. `clock` must outlive it.
std::unique_ptr<Device> make_emulated_device(const DeviceOptions& options, Clock& clock);

// Throws Error{unsupported} when this build has no CUDA, or the machine no usable GPU of that ordinal.
std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options);

// Usable GPUs; 0 without a GPU, a driver or a CUDA build. Never throws. `reason` says why it is 0.
unsigned cuda_device_count(std::string* reason = nullptr);

}  // namespace feedline
