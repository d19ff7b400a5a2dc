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

#include "bench/host_stall.h"
#include "bench/lane.h"
#include "core/error.h"

namespace feedline {
namespace {

constexpr std::chrono::milliseconds kWatchInterval{50};
constexpr Nanoseconds kProgressInterval_ns = 100'000'000;

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
    enum class End { none, steps, time, interrupted, failed };
    static constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

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
            if (why == End::interrupted && interrupted_ns_ == kNever) interrupted_ns_ = clock_.now();
        }
        changed_.notify_all();
        // First: a device that begins its epoch just now forgets the cut, and must get no batch after that.
        source_.stop();
        // After the last of a number of steps those under way are waited for; what lies behind a cut is not.
        if (why != End::steps)
            for (Lane& lane : lanes_) lane.device().cut();
    }

    bool ending() {
        std::lock_guard lock(mutex_);
        return end_ != End::none;
    }

    // When the time limit cuts the epoch; kNever without one, or before T0.
    Nanoseconds time_limit_ns() const {
        const Nanoseconds t0_ns = source_.first_issue_ns();
        return options_.duration_ns > 0 && t0_ns > 0 ? t0_ns + options_.duration_ns : kNever;
    }

    bool over_time() const { return clock_.now() >= time_limit_ns(); }

    // Where the epoch is cut by what is known now; kNever: nowhere.
    Nanoseconds cut_ns() {
        std::lock_guard lock(mutex_);
        return std::min(time_limit_ns(), interrupted_ns_);
    }

    // Up to where steps that are over count. Whatever cuts the epoch later cuts it after this.
    Nanoseconds now_or_cut_ns() {
        const Nanoseconds now_ns = clock_.now();
        return std::min(now_ns, cut_ns());
    }

    // ---- dispatching thread

    void dispatch() {
        try {
            for (Lane& lane : lanes_) lane.device().begin_epoch(options_.max_batch_bytes);
            const bool source_ended = dispatch_batches();
            finish_dispatching();
            for (Lane& lane : lanes_) lane.device().drain();
            std::lock_guard lock(figures_mutex_);
            for (Lane& lane : lanes_) lane.collect();
            settle_all(source_ended);
        } catch (...) {
            fail();
            finish_dispatching();
        }
        std::lock_guard lock(mutex_);
        drained_ = true;
        drained_changed_.notify_all();
    }

    // True: it came to the end of the source or of the steps that were asked for.
    bool dispatch_batches() {
        while (const Batch* batch = source_.next()) {
            if (batch->index != handed_over_)
                throw Error(ErrorKind::internal, "the loader delivered batches out of order");
            if (batch->ready_ns >= cut_ns()) {
                end(End::time);
                std::lock_guard lock(figures_mutex_);
                begin_lanes(batch->ready_ns);
                lane_of(batch->index).came_late(*batch);
                ++seen_;
                return false;
            }
            step(*batch);
            if (options_.max_steps > 0 && handed_over_ == options_.max_steps) {
                end(End::steps);
                return true;
            }
        }
        return !ending();
    }

    void step(const Batch& batch) {
        Lane& lane = lane_of(batch.index);
        lane.device().enqueue(batch.index, batch.data, batch.bytes, batch.ready_ns);
        if (audit_ != nullptr) audit_->deliver(batch.samples);
        {
            std::lock_guard lock(figures_mutex_);
            begin_lanes(batch.ready_ns);
            lane.enqueued(batch);
            lane.settle(now_or_cut_ns());
            seen_ = ++handed_over_;
        }
        release_when_copied(lane.device(), batch.index);
    }

    // From here on the batch may be refilled. Where the end of its copy is known and the source can wait for it by
    // itself, no thread of ours has to wake for it.
    void release_when_copied(Device& device, std::uint64_t index) {
        const std::optional<Nanoseconds> at_ns = source_.waits_for_slots() ? device.copied_at_ns(index) : std::nullopt;
        if (at_ns) {
            source_.release_at(index, *at_ns);
        } else {
            hand_over(index);
        }
    }

    // figures_mutex_ held. Nothing is read for an empty batch: then T0 is when it was ready.
    void begin_lanes(Nanoseconds ready_ns) {
        if (begun_) return;
        const Nanoseconds first_issue_ns = source_.first_issue_ns();
        for (Lane& lane : lanes_) lane.begin(first_issue_ns != 0 ? first_issue_ns : ready_ns);
        begun_ = true;
    }

    // At the end, figures_mutex_ held: counts what was over by the cut, if anything lies behind one, else everything.
    void settle_all(bool source_ended) {
        const Nanoseconds cut_ns = this->cut_ns();
        const auto slot_of_due = [this](std::uint64_t index) {
            return options_.max_steps == 0 || index < options_.max_steps ? source_.slot_since_ns(index) : std::nullopt;
        };
        bool all_over = source_ended || !slot_of_due(seen_);
        for (Lane& lane : lanes_) {
            lane.settle(cut_ns);
            all_over &= !lane.pending();
        }
        if (all_over) return;
        if (cut_ns == kNever) throw Error(ErrorKind::internal, "a device did not tell the times of every step");
        partial_ = cut_ns < time_limit_ns();
        if (!begun_ && source_.first_issue_ns() == 0) return;  // interrupted before anything was asked for
        begin_lanes(0);
        cut_ns_ = cut_ns;
        for (std::uint64_t index = seen_; index < seen_ + lanes_.size(); ++index) {
            Lane& lane = lane_of(index);
            if (lane.pending()) {
                lane.cut(cut_ns);
            } else if (const std::optional<Nanoseconds> slot_ns = source_ended ? std::nullopt : slot_of_due(index)) {
                lane.cut_waiting(cut_ns, *slot_ns);
            }  // else no batch comes any more, and it waits for the other devices
        }
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
            } else if (over_time() && !cut_by_time_) {
                cut_by_time_ = true;
                end(End::time);
            }
            if (!options_.progress) continue;
            const Nanoseconds now = clock_.now();
            if (now - last_progress_ns_ < kProgressInterval_ns) continue;
            last_progress_ns_ = now;
            options_.progress(progress());
        }
    }

    // Looks on the way whether this process ran: on the real clock, whatever clock the devices have.
    bool wait_drained() {
        const Nanoseconds cpu_before_ns = process_cpu_ns();
        const Nanoseconds due_ns = now_ns() + std::chrono::nanoseconds(kWatchInterval).count();
        std::unique_lock lock(mutex_);
        const bool drained = drained_changed_.wait_for(lock, kWatchInterval, [this] { return drained_; });
        lock.unlock();
        stalls_.slept(due_ns, now_ns(), process_cpu_ns() - cpu_before_ns);
        return drained;
    }

    // What the devices had told by the last batch; time has passed since then.
    Progress progress() {
        std::lock_guard lock(figures_mutex_);
        Progress out;
        const Nanoseconds now_ns = now_or_cut_ns();
        const Nanoseconds t0_ns = begun_ ? lanes_.front().timeline().t0_ns() : source_.first_issue_ns();
        if (t0_ns == 0 || now_ns <= t0_ns) return out;
        out.elapsed_ns = now_ns - t0_ns;
        out.idle_fraction = 1;
        if (!begun_) return out;
        const double whole_ns = static_cast<double>(out.elapsed_ns) * static_cast<double>(lanes_.size());
        for (Lane& lane : lanes_) {
            lane.settle(now_ns);
            const IdleFigures so_far = lane.timeline().figures();
            out.steps += so_far.steps;
            out.samples += lane.total().samples;
            out.bytes += lane.total().payload_bytes;
            out.idle_fraction -= (so_far.busy_ns + static_cast<double>(lane.under_way_ns(now_ns))) / whole_ns;
        }
        return out;
    }

    EpochOutcome outcome() const {
        StepLoad total;
        std::vector<const Timeline*> timelines;
        for (const Lane& lane : lanes_) {
            total += lane.total();
            timelines.push_back(&lane.timeline());
        }
        EpochOutcome out;
        out.idle = combine(timelines, cut_ns_);
        out.steps = out.idle.steps;
        out.steps_without_samples = total.batches_without_samples;
        out.samples = total.samples;
        out.skipped_samples = total.skipped_samples;
        out.failures = total.failures.entries();
        out.payload_bytes = total.payload_bytes;
        out.h2d_bytes = total.h2d_bytes;
        out.padding_bytes = out.h2d_bytes - out.payload_bytes;
        out.handed_over_batches = handed_over_;
        out.oversleep_ns = oversleep_ns_;
        out.host_stall_ns = stalls_.between(out.idle.t0_ns, out.idle.t1_ns);
        out.partial = partial_;
        if (options_.keep_raw_steps) out.step_ns = raw_steps();
        return out;
    }

    // A device whose batches are long may lack a step that another, with later ones, has.
    std::vector<Nanoseconds> raw_steps() const {
        std::vector<Nanoseconds> out;
        for (std::uint64_t step = 0; step < handed_over_; ++step) {
            const Timeline& timeline = lanes_[step % lanes_.size()].timeline();
            const std::uint64_t own = step / lanes_.size();
            if (own >= timeline.step_ends().size()) continue;
            out.push_back(timeline.step_ends()[own] - (own == 0 ? timeline.t0_ns() : timeline.step_ends()[own - 1]));
        }
        return out;
    }

    Lane& lane_of(std::uint64_t index) { return lanes_[index % lanes_.size()]; }

    BatchSource& source_;
    const PipelineOptions& options_;
    DeliveryAudit* audit_;
    MonotonicClock monotonic_;
    Clock& clock_;
    Nanoseconds last_progress_ns_;  // the caller's thread
    std::vector<Lane> lanes_;       // one a device; after construction the vector itself does not change

    bool cut_by_time_ = false;       // the caller's thread has said so
    std::uint64_t handed_over_ = 0;  // the dispatching thread's: batches enqueued
    std::uint64_t seen_ = 0;         // and one more that came too late

    // Held while lanes change, so that progress sees them whole.
    std::mutex figures_mutex_;
    bool begun_ = false;
    bool partial_ = false;
    Nanoseconds cut_ns_ = 0;  // 0: the epoch was not cut

    std::mutex mutex_;
    std::condition_variable changed_;          // for the releasing thread
    std::condition_variable drained_changed_;  // for the caller's
    std::deque<std::uint64_t> to_release_;
    End end_ = End::none;
    bool dispatched_ = false;
    bool drained_ = false;
    Nanoseconds interrupted_ns_ = kNever;
    std::exception_ptr error_;

    HostStalls stalls_;             // the caller's thread's
    Nanoseconds oversleep_ns_ = 0;  // the releasing thread's, read after it was joined
};

}  // namespace

EpochOutcome run_epoch(BatchSource& source, std::span<const std::unique_ptr<Device>> devices,
                       const PipelineOptions& options, DeliveryAudit* audit, const Interrupt& interrupt) {
    if (devices.empty()) throw Error(ErrorKind::internal, "an epoch needs at least one device");
    return EpochRun(source, devices, options, audit).run(interrupt);
}

}  // namespace feedline
