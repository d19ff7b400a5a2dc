// The CUDA device (see device.h). Its own header because tests look at more of it than the pipeline does.
//
//     copy stream   wait e_{i-N} | cs_i | copy i | ce_i | wait e_{i+1-N} | cs_{i+1} | ...
//     step stream                               wait ce_i | s_i | step i | e_i | ...
//
// The GPU itself keeps the order: a copy waits on it for the step that frees its buffer, a step for its copy. The host
// enqueues and goes on, and sleeps only for a copy (wait_copied) or for the end (drain). In serial mode both streams
// are one, and wait_copied sleeps for the step as well. A cut tells the kernels to end early, so that all events come
// soon; a step that was cut short is told with its full length from its start, as if it had gone on.
//
// Times: every cs, ce, s, e is a timing event. Their distances are taken from the event harvested last, a step away, so
// that the runtime's float milliseconds stay exact however long the epoch is, and added up to the GPU's time since the
// epoch began. ClockMap lays that on CLOCK_MONOTONIC by anchors: an event on a third, always idle stream, with the
// host's time just before and just after; the tightest of several at the begin of an epoch, one more every second. What
// is left is half the width of an anchor, a few microseconds; where that would put an event before its cause (a copy
// before its batch was ready, a step before its copy was over), the time of the cause is taken.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/clock_map.h"
#include "cuda/device.h"
#include "cuda/ring.h"
#include "cuda/runtime.h"
#include "cuda/step_work.h"

namespace feedline {

class CudaDevice final : public Device {
public:
    // Throws as make_cuda_device does.
    explicit CudaDevice(const DeviceOptions& options);
    ~CudaDevice() override;
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;

    DeviceKind kind() const override { return DeviceKind::cuda; }
    std::string name() const override { return name_; }
    std::shared_ptr<Slab> make_slab(std::uint64_t bytes) override;
    void begin_epoch(std::uint64_t max_batch_bytes) override;
    void enqueue(std::uint64_t index, const std::byte* data, std::uint64_t bytes, Nanoseconds ready_ns) override;
    Nanoseconds wait_copied(std::uint64_t index) override;
    void collect(std::vector<StepTimes>& out) override;
    void drain() override;
    void cut() override;

    // Copies back what device buffer `slot` (batch count modulo slots) holds, into pinned memory. The device is idle.
    void read_back(unsigned slot, std::byte* pinned, std::uint64_t bytes);

private:
    // The events of one batch. Reused when nobody needs them any more: `holders` counts the harvest (until the next
    // batch was harvested, whose times are taken from this one's) and the wait for its copy.
    struct Flight {
        Event copy_start;
        Event copy_end;
        Event step_start;
        Event step_end;
        std::uint64_t index = 0;
        Nanoseconds ready_ns = 0;
        bool launched = false;  // its step: not after a cut
        int holders = 0;
    };
    struct Anchor {
        Nanoseconds host_ns = 0;
        Nanoseconds width_ns = 0;
    };

    static int usable_ordinal(const DeviceOptions& options);
    const Stream& step_stream() const { return options_.serial ? copy_stream_ : step_stream_; }
    std::byte* buffer(std::uint64_t slot) const { return buffers_.data() + slot * buffer_bytes_; }
    Flight& free_flight();
    void release(Flight& flight);  // mutex_ held
    void harvest();
    StepTimes times_of(const Flight& flight) const;
    Anchor drop_anchor(Event& event);
    void restart_clock();
    void steer_clock();

    const DeviceOptions options_;
    const int ordinal_;
    std::string name_;

    // In this order: streams outlive what was enqueued on them.
    Stream copy_stream_;
    Stream step_stream_;
    Stream anchor_stream_;
    std::unique_ptr<StepWork> work_;
    GpuMemory buffers_;
    std::uint64_t buffer_bytes_ = 0;

    // The enqueuing thread's.
    std::uint64_t batches_ = 0;  // enqueued in this epoch
    std::uint64_t last_index_ = 0;
    std::uint64_t max_batch_bytes_ = 0;
    std::vector<std::unique_ptr<Flight>> flights_;
    Ring<Flight*> in_flight_;  // enqueued and not harvested
    std::vector<StepTimes> known_;
    StepTimes last_times_;
    Event epoch_anchor_;
    Event spare_anchor_;
    bool spare_is_reference_ = false;
    Nanoseconds next_anchor_ns_ = 0;

    std::atomic<bool> cut_{false};

    // Shared with the waiting thread.
    std::mutex mutex_;
    Ring<Flight*> copying_;  // enqueued and not waited for
    std::vector<Flight*> free_;
    ClockMap clock_map_;                // written by the enqueuing thread
    const Event* reference_ = nullptr;  // complete, its time on the GPU's clock known; written by the enqueuing thread
    double reference_device_ns_ = 0;
    Flight* reference_flight_ = nullptr;  // whose event it is; null for an anchor
};

}  // namespace feedline
