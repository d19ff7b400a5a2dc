// The emulated accelerator: a copy engine and a compute engine whose timeline follows from the times the batches became
// ready, by the recurrence in device.h. Nothing is slept through but ce_i, which the loader has to learn to get its
// slot back, so a host that wakes late never makes a step look longer or a copy later.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include <fmt/format.h>

#include "core/error.h"
#include "cuda/check_options.h"
#include "cuda/device.h"
#include "cuda/ring.h"

namespace feedline {
namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::min();

class EmulatedDevice final : public Device {
public:
    EmulatedDevice(const DeviceOptions& options, Clock& clock)
        : options_(options), clock_(clock), step_ends_(options.slots, kNever) {}

    DeviceKind kind() const override { return DeviceKind::emulated; }

    std::string name() const override {
        return options_.ordinal == 0 ? "emulated accelerator"
                                     : fmt::format("emulated accelerator {}", options_.ordinal);
    }

    std::shared_ptr<Slab> make_slab(std::uint64_t bytes) override { return make_host_slab(bytes); }

    void begin_epoch(std::uint64_t max_batch_bytes) override {
        max_batch_bytes_ = max_batch_bytes;
        step_ends_.assign(options_.slots, kNever);
        oldest_ = 0;
        last_copy_end_ns_ = kNever;
        last_step_end_ns_ = kNever;
        enqueued_any_ = false;
        known_.clear();
        cut_ = false;
        std::lock_guard lock(mutex_);
        copies_.clear();
    }

    void enqueue(std::uint64_t index, const std::byte* /*data*/, std::uint64_t bytes, Nanoseconds ready_ns) override {
        if (bytes > max_batch_bytes_)
            throw Error(ErrorKind::internal,
                        fmt::format("batch {} has {} bytes, more than the {} that the epoch began with", index, bytes,
                                    max_batch_bytes_));
        if (enqueued_any_ && index <= last_index_)
            throw Error(ErrorKind::internal, fmt::format("batch {} was enqueued after batch {}", index, last_index_));

        StepTimes times;
        times.index = index;
        times.ready_ns = ready_ns;
        // step_ends_ holds e of the last `slots` batches; the oldest is e_{i-N}, whose buffer this batch takes over.
        const Nanoseconds engine_free_ns = options_.serial ? last_step_end_ns_ : last_copy_end_ns_;
        times.copy_start_ns = std::max({ready_ns, engine_free_ns, step_ends_[oldest_]});
        times.copy_end_ns = times.copy_start_ns + copy_ns(bytes);
        times.start_ns = std::max(last_step_end_ns_, times.copy_end_ns);
        times.end_ns = times.start_ns + options_.step_ns;

        step_ends_[oldest_] = times.end_ns;
        oldest_ = oldest_ + 1 == step_ends_.size() ? 0 : oldest_ + 1;
        last_copy_end_ns_ = times.copy_end_ns;
        last_step_end_ns_ = times.end_ns;
        last_index_ = index;
        enqueued_any_ = true;
        known_.push_back(times);
        std::lock_guard lock(mutex_);
        copies_.push({index, options_.serial ? times.end_ns : times.copy_end_ns});
    }

    Nanoseconds wait_copied(std::uint64_t index) override {
        const Nanoseconds copy_end_ns = take_copy_end(index);
        return std::max<Nanoseconds>(wait_until(copy_end_ns) - copy_end_ns, 0);
    }

    std::optional<Nanoseconds> copied_at_ns(std::uint64_t index) override { return take_copy_end(index); }

    void collect(std::vector<StepTimes>& out) override {
        out.insert(out.end(), known_.begin(), known_.end());
        known_.clear();
    }

    void drain() override { wait_until(last_step_end_ns_); }

    void cut() override { cut_ = true; }

private:
    // How long cut() may go unnoticed.
    static constexpr Nanoseconds kLongestSleep_ns = 40'000'000;

    struct Copy {
        std::uint64_t index = 0;
        Nanoseconds end_ns = 0;  // when the host slot is free
    };

    Nanoseconds copy_ns(std::uint64_t bytes) const {
        return options_.h2d_latency_ns + std::llround(static_cast<double>(bytes) / options_.h2d_bytes_per_second * 1e9);
    }

    // Returns the time, which is at or after `time_ns` unless the run was cut.
    Nanoseconds wait_until(Nanoseconds time_ns) {
        Nanoseconds now = clock_.now();
        while (now < time_ns && !cut_) {
            clock_.sleep_until(std::min(time_ns, now + kLongestSleep_ns));
            now = clock_.now();
        }
        return now;
    }

    Nanoseconds take_copy_end(std::uint64_t index) {
        std::lock_guard lock(mutex_);
        while (!copies_.empty() && copies_.front().index < index) copies_.pop();
        if (copies_.empty() || copies_.front().index != index)
            throw Error(ErrorKind::internal,
                        fmt::format("waited for the copy of batch {}, which is not under way", index));
        const Nanoseconds end_ns = copies_.front().end_ns;
        copies_.pop();
        return end_ns;
    }

    const DeviceOptions options_;
    Clock& clock_;

    // The enqueuing thread's.
    std::uint64_t max_batch_bytes_ = 0;
    std::vector<Nanoseconds> step_ends_;
    std::size_t oldest_ = 0;
    Nanoseconds last_copy_end_ns_ = kNever;
    Nanoseconds last_step_end_ns_ = kNever;
    std::uint64_t last_index_ = 0;
    bool enqueued_any_ = false;
    std::vector<StepTimes> known_;

    std::atomic<bool> cut_{false};

    // Enqueued and not waited for: shared with the waiting thread.
    std::mutex mutex_;
    Ring<Copy> copies_;
};

}  // namespace

std::unique_ptr<Device> make_emulated_device(const DeviceOptions& options, Clock& clock) {
    check_device_options(options);
    return std::make_unique<EmulatedDevice>(options, clock);
}

}  // namespace feedline
