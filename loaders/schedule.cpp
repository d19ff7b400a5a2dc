#include "loaders/schedule.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace feedline {

Schedule::Schedule(BatchPlanner& planner, const Slab& slab, const ScheduleOptions& options)
    : planner_(planner),
      slab_(slab),
      slots_(options.slots),
      total_(options.batches),
      states_(options.slots + std::size_t{1}),
      slot_since_ns_(options.slots, now_ns()),
      open_(options.open),
      ring_(slab.bytes(), options.alignment_bytes, options.slots) {
    live_.reserve(options.slots);
}

ClaimStatus Schedule::claim(std::size_t max_reads, std::uint64_t max_bytes, Claim& claim, std::uint64_t& seen) {
    std::unique_lock lock(mutex_);
    if (released_ < told_) pass_time(now_ns());
    while (true) {
        seen = changes_;
        if (stopped_) return ClaimStatus::finished;
        if (!open_) return ClaimStatus::waiting;
        if (claimed_ < placed_) {
            BatchState& state = at(claimed_);
            const std::vector<PlannedRead>& reads = state.plan.reads;
            claim.batch = &state;
            claim.first_read = static_cast<std::uint32_t>(state.next_read);
            const std::size_t end = std::min(reads.size(), state.next_read + max_reads);
            std::uint64_t bytes = 0;
            do {
                bytes += reads[state.next_read++].extent.length_bytes;
            } while (state.next_read < end && bytes < max_bytes);
            claim.reads = static_cast<std::uint32_t>(state.next_read) - claim.first_read;
            totals_.requests += claim.reads;
            totals_.bytes += bytes;
            if (state.next_read == reads.size()) ++claimed_;
            claim.none_ahead = placed_ == planned_ && may_plan();
            return ClaimStatus::work;
        }
        if (placed_ < planned_) {
            const std::optional<std::uint64_t> offset_bytes = find_room();
            if (!offset_bytes) return ClaimStatus::no_slot;
            place(*offset_bytes);
            continue;
        }
        if (planned_ == total_) return ClaimStatus::finished;
        if (planning_) return ClaimStatus::waiting;
        if (!may_plan()) return ClaimStatus::no_slot;
        plan(lock);
    }
}

void Schedule::plan_ahead() {
    std::unique_lock lock(mutex_);
    if (open_ && !stopped_ && placed_ == planned_ && may_plan()) plan(lock);
}

bool Schedule::may_plan() const {
    // A state can be planned into once its last batch is released.
    return !planning_ && planned_ < total_ && planned_ - released_ < states_.size();
}

void Schedule::plan(std::unique_lock<std::mutex>& lock) {
    planning_ = true;
    const std::uint64_t index = planned_;
    lock.unlock();
    BatchState& state = at(index);
    if (!planner_.next(state.plan)) {
        planner_.rewind();
        planner_.next(state.plan);
    }
    state.plan.index = index;
    if (replayed_) replayed_->apply(state.plan, index);
    state.trace.resize(state.plan.reads.size());
    lock.lock();
    planning_ = false;
    ++planned_;
    changed();
}

// Where the next planned batch goes. nullopt: no slot is free, or no room.
std::optional<std::uint64_t> Schedule::find_room() {
    if (placed_ - released_ >= slots_) return std::nullopt;
    const PlannedBatch& plan = at(placed_).plan;
    if (replayed_) return plan.slab_offset_bytes;
    live_.clear();
    for (std::uint64_t live = released_; live < placed_; ++live) {
        const PlannedBatch& other = at(live).plan;
        live_.push_back({other.slab_offset_bytes, other.slab_offset_bytes + other.bytes});
    }
    return ring_.place(plan.bytes, live_);
}

void Schedule::place(std::uint64_t slab_offset_bytes) {
    BatchState& state = at(placed_);
    state.plan.slab_offset_bytes = slab_offset_bytes;
    ++placed_;
    state.next_read = 0;
    state.reads_left = static_cast<std::uint32_t>(state.plan.reads.size());
    state.skipped_samples = replayed_ ? replayed_->skipped(state.plan.samples.size()) : 0;
    state.skipped_bytes = 0;
    state.failures = {};
    state.batch = {.index = state.plan.index,
                   .data = slab_.data() + state.plan.slab_offset_bytes,
                   .bytes = state.plan.bytes,
                   .payload_bytes = state.plan.payload_bytes,
                   .samples = state.plan.samples,
                   .trace = state.trace,
                   .failures = {},
                   .slot_ns = slot_since_ns_[state.plan.index % slots_],
                   .first_issue_ns = 0,
                   .ready_ns = 0};
    state.ready = state.plan.reads.empty();
    if (!state.ready) return;
    state.batch.ready_ns = now_ns();
    ++claimed_;
    ready_.notify_one();
}

// Releases what was told to be free by `now`, in order.
void Schedule::pass_time(Nanoseconds now) {
    while (released_ < told_ && slot_since_ns_[released_ % slots_] <= now) ++released_;
}

void Schedule::changed() {
    ++changes_;
    change_.notify_all();
}

void Schedule::wait_change(std::uint64_t seen) {
    std::unique_lock lock(mutex_);
    while (changes_ == seen) {
        if (released_ == told_) {
            change_.wait(lock);
            continue;
        }
        const std::uint64_t awaited = released_;
        const Nanoseconds at_ns = slot_since_ns_[awaited % slots_];
        // Steady time is CLOCK_MONOTONIC.
        change_.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at_ns)));
        const Nanoseconds now = now_ns();
        if (now < at_ns) continue;
        if (released_ == awaited) {
            // This worker is the first to wake. The slot was of no use before.
            totals_.oversleep_ns += now - at_ns;
            slot_since_ns_[awaited % slots_] = now;
            pass_time(now);
        }
        return;
    }
}

Nanoseconds Schedule::complete(BatchState& state, std::uint32_t reads) {
    // Acquire: what the other workers wrote for this batch; release: what this one did.
    if (state.reads_left.fetch_sub(reads, std::memory_order_acq_rel) != reads) return -1;
    Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
    for (const RequestTrace& trace : state.trace) first = std::min(first, trace.issued_ns);
    state.batch.first_issue_ns = first;
    state.batch.payload_bytes -= state.skipped_bytes;
    state.batch.failures = state.failures.entries();
    state.batch.ready_ns = now_ns();
    return state.batch.ready_ns - first;
}

void Schedule::publish(BatchState& state) {
    {
        const std::lock_guard lock(mutex_);
        state.ready = true;
        if (state.batch.index != delivered_) return;
    }
    ready_.notify_one();
}

void Schedule::fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_ && !stopped_) error_ = std::move(error);
    stopped_ = true;
    changed();
    ready_.notify_all();
}

void Schedule::open(ReplayedBatch replayed) {
    const std::lock_guard lock(mutex_);
    replayed_ = std::move(replayed);
    open_ = true;
    changed();
}

const Batch* Schedule::next(Nanoseconds check_every_ns, const std::function<void()>& check) {
    std::unique_lock lock(mutex_);
    while (true) {
        if (error_) throw Error(*error_);
        if (stopped_ || delivered_ == total_) return nullptr;
        if (delivered_ < placed_ && at(delivered_).ready) {
            const BatchState& state = at(delivered_++);
            totals_.delivered_samples += state.batch.samples.size() - state.skipped_samples;
            return &state.batch;
        }
        if (check_every_ns <= 0) {
            ready_.wait(lock);
        } else if (ready_.wait_for(lock, std::chrono::nanoseconds(check_every_ns)) == std::cv_status::timeout) {
            lock.unlock();
            check();
            lock.lock();
        }
    }
}

void Schedule::release(std::uint64_t index) {
    release_at(index, now_ns());
}

void Schedule::release_at(std::uint64_t index, Nanoseconds at_ns) {
    const std::lock_guard lock(mutex_);
    if (index != told_ || index >= delivered_) {
        throw Error(ErrorKind::internal, "a batch was released out of order");
    }
    // In order, as slots are: a later one is not free before this one.
    const bool first = released_ == told_;
    if (!first) at_ns = std::max(at_ns, slot_since_ns_[(told_ - 1) % slots_]);
    slot_since_ns_[index % slots_] = at_ns;
    ++told_;
    const std::uint64_t released = released_;
    pass_time(now_ns());
    // Who waits for an earlier slot will see this one when it wakes.
    if (first || released_ != released) changed();
}

void Schedule::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed();
    ready_.notify_all();
}

Schedule::Totals Schedule::totals() const {
    const std::lock_guard lock(mutex_);
    return totals_;
}

std::optional<Nanoseconds> Schedule::slot_since_ns(std::uint64_t index) const {
    const std::lock_guard lock(mutex_);
    if (index >= total_) return std::nullopt;
    return index < told_ + slots_ ? slot_since_ns_[index % slots_] : BatchSource::kNoSlotYet;
}

}  // namespace feedline
