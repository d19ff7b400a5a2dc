#include "bench/pipeline.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "core/error.h"

namespace feedline {
namespace {

constexpr std::chrono::milliseconds kWatchInterval{50};
constexpr Nanoseconds kProgressInterval_ns = 100'000'000;

// What a step's gap may have to be cut by, until the device knows the step's times.
struct Pending {
    std::uint64_t index = 0;
    Nanoseconds slot_ns = 0;
    std::vector<RequestTrace> trace;
};

// The steps of one device: its timeline, and the traces that still wait for their times. Used by the dispatching
// thread.
class Lane {
public:
    Lane(Device& device, std::uint64_t warmup_steps) : device_(device), timeline_(warmup_steps) {}

    Device& device() { return device_; }
    const Timeline& timeline() const { return timeline_; }
    void begin(Nanoseconds t0_ns) { timeline_.begin(t0_ns); }

    // After enqueue(): keeps what the timeline will need of `batch`, which is about to be released. A trace is only
    // needed where the device stood idle before the batch was ready, which is known at once if the step's times are.
    void keep(const Batch& batch) {
        device_.collect(times_);
        const bool known = !times_.empty() && times_.back().index == batch.index;
        const bool trace_unused =
            known && times_.size() == 1 && pending_.empty() && batch.ready_ns <= timeline_.last_end_ns();
        Pending kept;
        if (!spare_.empty()) {
            kept.trace = std::move(spare_.back());
            spare_.pop_back();
        }
        kept.index = batch.index;
        kept.slot_ns = batch.slot_ns;
        if (trace_unused)
            kept.trace.clear();
        else
            kept.trace.assign(batch.trace.begin(), batch.trace.end());
        pending_.push_back(std::move(kept));
    }

    // Takes over the times of every step that is known by now.
    void settle() {
        for (const StepTimes& times : times_) {
            if (pending_.empty() || pending_.front().index != times.index)
                throw Error(ErrorKind::internal, "the device reported a step that was not enqueued");
            Pending& kept = pending_.front();
            timeline_.add(times, kept.slot_ns, kept.trace);
            spare_.push_back(std::move(kept.trace));
            pending_.pop_front();
        }
        times_.clear();
    }

    void collect_rest() { device_.collect(times_); }

private:
    Device& device_;
    Timeline timeline_;
    std::vector<StepTimes> times_;
    std::deque<Pending> pending_;
    std::vector<std::vector<RequestTrace>> spare_;
};

class EpochRun {
public:
    EpochRun(BatchSource& source, std::span<const std::unique_ptr<Device>> devices, const PipelineOptions& options,
             DeliveryAudit* audit)
        : source_(source),
          options_(options),
          audit_(audit),
          clock_(options.clock != nullptr ? *options.clock : monotonic_),
          last_progress_ns_(clock_.now()) {
        const std::uint64_t warmup_steps = (options.warmup_steps + devices.size() - 1) / devices.size();
        lanes_.reserve(devices.size());
        for (const std::unique_ptr<Device>& device : devices) lanes_.emplace_back(*device, warmup_steps);
    }

    EpochOutcome run(const Interrupt& interrupt) {
        {
            std::jthread releasing;
            std::jthread dispatching;
            try {
                releasing = std::jthread([this] { release_loop(); });
                dispatching = std::jthread([this] { dispatch(); });
                watch(interrupt);
            } catch (...) {
                fail();
            }
        }
        // Both threads were joined: what they wrote needs no lock from here on.
        if (error_) std::rethrow_exception(error_);
        return outcome();
    }

private:
    enum class End { none, limit, interrupted, failed };

    // ---- any thread

    void fail() {
        {
            std::lock_guard lock(mutex_);
            if (!error_) error_ = std::current_exception();
        }
        end(End::failed);
    }

    // The first reason counts, but a failure outranks what was meant.
    void end(End why) {
        {
            std::lock_guard lock(mutex_);
            if (end_ == End::none || why == End::failed) end_ = why;
            if (why == End::interrupted) interrupted_ = true;
        }
        changed_.notify_all();
        if (why != End::limit)
            for (Lane& lane : lanes_) lane.device().abandon_waits();
        source_.stop();
    }

    bool ending() {
        std::lock_guard lock(mutex_);
        return end_ != End::none;
    }

    bool over_time() const {
        if (options_.duration_ns <= 0) return false;
        const Nanoseconds t0_ns = source_.first_issue_ns();
        return t0_ns > 0 && clock_.now() - t0_ns >= options_.duration_ns;
    }

    // ---- dispatching thread

    void dispatch() {
        try {
            for (Lane& lane : lanes_) lane.device().begin_epoch(options_.max_batch_bytes);
            while (const Batch* batch = source_.next()) {
                if (ending()) break;
                if (over_time()) {
                    end(End::limit);
                    break;
                }
                step(*batch);
                if (options_.max_steps > 0 && steps_ == options_.max_steps) {
                    end(End::limit);
                    break;
                }
            }
            finish_dispatching();
            for (Lane& lane : lanes_) {
                lane.device().drain();
                lane.collect_rest();
                std::lock_guard lock(figures_mutex_);
                lane.settle();
            }
        } catch (...) {
            fail();
            finish_dispatching();
        }
        std::lock_guard lock(mutex_);
        drained_ = true;
        drained_changed_.notify_all();
    }

    void step(const Batch& batch) {
        if (batch.index != steps_) throw Error(ErrorKind::internal, "the loader delivered batches out of order");
        if (steps_ == 0) {
            const Nanoseconds first_issue_ns = source_.first_issue_ns();
            std::lock_guard lock(figures_mutex_);
            // Nothing is read for an empty batch.
            for (Lane& lane : lanes_) lane.begin(first_issue_ns != 0 ? first_issue_ns : batch.ready_ns);
        }
        Lane& lane = lanes_[batch.index % lanes_.size()];
        lane.device().enqueue(batch.index, batch.data, batch.bytes, batch.ready_ns);
        if (audit_ != nullptr) audit_->deliver(batch.samples);
        const auto skipped = static_cast<std::uint64_t>(
            std::count_if(batch.samples.begin(), batch.samples.end(),
                          [](const SampleView& sample) { return sample.status == SampleStatus::skipped; }));
        const std::uint64_t samples = batch.samples.size() - skipped;
        const std::uint64_t payload_bytes = batch.payload_bytes;
        const std::uint64_t bytes = batch.bytes;
        lane.keep(batch);
        hand_over(batch.index);  // from here on `batch` may be refilled

        std::lock_guard lock(figures_mutex_);
        ++steps_;
        totals_.samples += samples;
        totals_.skipped_samples += skipped;
        totals_.payload_bytes += payload_bytes;
        totals_.h2d_bytes += bytes;
        lane.settle();
    }

    void hand_over(std::uint64_t index) {
        {
            std::lock_guard lock(mutex_);
            to_release_.push_back(index);
        }
        changed_.notify_one();
    }

    void finish_dispatching() {
        {
            std::lock_guard lock(mutex_);
            dispatched_ = true;
        }
        changed_.notify_one();
    }

    // ---- releasing thread

    void release_loop() {
        try {
            while (const std::optional<std::uint64_t> index = next_to_release()) {
                oversleep_ns_ += lanes_[*index % lanes_.size()].device().wait_copied(*index);
                source_.release(*index);
            }
        } catch (...) {
            fail();
        }
    }

    std::optional<std::uint64_t> next_to_release() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !to_release_.empty() || dispatched_ || end_ == End::failed; });
        if (to_release_.empty() || end_ == End::failed) return std::nullopt;
        const std::uint64_t index = to_release_.front();
        to_release_.pop_front();
        return index;
    }

    // ---- the caller's thread

    void watch(const Interrupt& interrupt) {
        while (!wait_drained()) {
            if (interrupt.requested()) {
                end(End::interrupted);
            } else if (over_time() && !ending()) {
                end(End::limit);
            }
            if (!options_.progress) continue;
            const Nanoseconds now = clock_.now();
            if (now - last_progress_ns_ < kProgressInterval_ns) continue;
            last_progress_ns_ = now;
            options_.progress(progress(now));
        }
    }

    bool wait_drained() {
        std::unique_lock lock(mutex_);
        return drained_changed_.wait_for(lock, kWatchInterval, [this] { return drained_; });
    }

    Progress progress(Nanoseconds now_ns) {
        std::lock_guard lock(figures_mutex_);
        Progress out;
        const Nanoseconds t0_ns = steps_ > 0 ? lanes_.front().timeline().t0_ns() : source_.first_issue_ns();
        if (t0_ns == 0) return out;
        out.steps = steps_;
        out.samples = totals_.samples;
        out.bytes = totals_.payload_bytes;
        out.elapsed_ns = now_ns - t0_ns;
        out.idle_fraction = 1;
        if (steps_ > 0) out.idle_fraction = combined(now_ns).fraction;
        return out;
    }

    IdleFigures combined(Nanoseconds t1_at_least_ns) const {
        std::vector<const Timeline*> timelines;
        for (const Lane& lane : lanes_) timelines.push_back(&lane.timeline());
        return combine(timelines, t1_at_least_ns);
    }

    EpochOutcome outcome() const {
        EpochOutcome out = totals_;
        out.steps = steps_;
        out.padding_bytes = out.h2d_bytes - out.payload_bytes;
        out.oversleep_ns = oversleep_ns_;
        out.partial = interrupted_;
        out.idle = combined(0);
        if (options_.keep_raw_steps) out.step_ns_clipped = raw_steps();
        return out;
    }

    std::vector<std::uint32_t> raw_steps() const {
        std::vector<std::uint32_t> out;
        out.reserve(steps_);
        for (std::uint64_t step = 0; step < steps_; ++step) {
            const Timeline& timeline = lanes_[step % lanes_.size()].timeline();
            const std::uint64_t own = step / lanes_.size();
            if (own >= timeline.step_ends().size()) break;  // an abandoned device did not wait for its steps
            const Nanoseconds before = own == 0 ? timeline.t0_ns() : timeline.step_ends()[own - 1];
            const Nanoseconds length_ns = timeline.step_ends()[own] - before;
            constexpr Nanoseconds kMost = std::numeric_limits<std::uint32_t>::max();
            out.push_back(static_cast<std::uint32_t>(std::min(length_ns, kMost)));
        }
        return out;
    }

    BatchSource& source_;
    const PipelineOptions& options_;
    DeliveryAudit* audit_;
    MonotonicClock monotonic_;
    Clock& clock_;
    Nanoseconds last_progress_ns_;  // the caller's thread
    std::vector<Lane> lanes_;       // one a device; after construction the vector itself does not change

    // Held while timelines and totals change, so that progress sees them whole.
    std::mutex figures_mutex_;
    std::uint64_t steps_ = 0;
    EpochOutcome totals_;

    std::mutex mutex_;
    std::condition_variable changed_;          // for the releasing thread
    std::condition_variable drained_changed_;  // for the caller's
    std::deque<std::uint64_t> to_release_;
    End end_ = End::none;
    bool dispatched_ = false;
    bool drained_ = false;
    bool interrupted_ = false;
    std::exception_ptr error_;

    Nanoseconds oversleep_ns_ = 0;  // the releasing thread's, read after it was joined
};

}  // namespace

EpochOutcome run_epoch(BatchSource& source, std::span<const std::unique_ptr<Device>> devices,
                       const PipelineOptions& options, DeliveryAudit* audit, const Interrupt& interrupt) {
    if (devices.empty()) throw Error(ErrorKind::internal, "an epoch needs at least one device");
    return EpochRun(source, devices, options, audit).run(interrupt);
}

}  // namespace feedline
