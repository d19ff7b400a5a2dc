#include "bench/lane.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/error.h"

namespace feedline {
namespace {

constexpr Nanoseconds kUnknown = std::numeric_limits<Nanoseconds>::max();

StepTimes unknown_times(const Batch& batch) {
    return {.index = batch.index,
            .ready_ns = batch.ready_ns,
            .copy_start_ns = kUnknown,
            .copy_end_ns = kUnknown,
            .start_ns = kUnknown,
            .end_ns = kUnknown};
}

}  // namespace

StepLoad& StepLoad::operator+=(const StepLoad& other) {
    samples += other.samples;
    skipped_samples += other.skipped_samples;
    batches_without_samples += other.batches_without_samples;
    payload_bytes += other.payload_bytes;
    h2d_bytes += other.h2d_bytes;
    failures.merge(other.failures);
    return *this;
}

StepLoad load_of(const Batch& batch) {
    const auto skipped = static_cast<std::uint64_t>(
        std::count_if(batch.samples.begin(), batch.samples.end(),
                      [](const SampleView& sample) { return sample.status == SampleStatus::skipped; }));
    StepLoad load{.samples = batch.samples.size() - skipped,
                  .skipped_samples = skipped,
                  .batches_without_samples = skipped > 0 && skipped == batch.samples.size() ? 1U : 0U,
                  .payload_bytes = batch.payload_bytes,
                  .h2d_bytes = batch.bytes};
    for (const Oddity& failure : batch.failures) {
        load.failures.add(failure.kind, failure.count, [&] { return failure.example; });
    }
    return load;
}

void Lane::begin(Nanoseconds t0_ns) {
    timeline_.begin(t0_ns);
    known_end_ns_ = t0_ns;
}

Lane::Pending& Lane::keep(const Batch& batch, bool with_trace) {
    Pending kept;
    if (!spare_.empty()) {
        kept.trace = std::move(spare_.back());
        spare_.pop_back();
    }
    kept.times = unknown_times(batch);
    kept.slot_ns = batch.slot_ns;
    kept.load = load_of(batch);
    if (with_trace) {
        kept.trace.assign(batch.trace.begin(), batch.trace.end());
    } else {
        kept.trace.clear();
    }
    pending_.push(std::move(kept));
    return pending_[pending_.size() - 1];
}

void Lane::enqueued(const Batch& batch) {
    // A trace is needed only where the device stood idle before the batch was ready. That is known at once if the end
    // of the step before is.
    const bool busy_until_ready = known_ == pending_.size() && batch.ready_ns <= known_end_ns_;
    keep(batch, !busy_until_ready);
    collect();
}

void Lane::came_late(const Batch& batch) {
    keep(batch, true);
}

void Lane::collect() {
    told_.clear();
    device_.collect(told_);
    for (const StepTimes& times : told_) {
        if (known_ == pending_.size() || pending_[known_].times.index != times.index)
            throw Error(ErrorKind::internal, "the device reported a step that was not enqueued");
        pending_[known_++].times = times;
        known_end_ns_ = std::max(known_end_ns_, times.end_ns);
    }
}

void Lane::settle(Nanoseconds now_ns) {
    while (known_ > 0 && pending_.front().times.end_ns <= now_ns) {
        Pending& over = pending_.front();
        if (over.load.batches_without_samples > 0) {
            timeline_.add_without_samples(over.times, over.slot_ns, over.trace);
        } else {
            timeline_.add(over.times, over.slot_ns, over.trace);
        }
        total_ += over.load;
        spare_.push_back(std::move(over.trace));
        pending_.pop();
        --known_;
    }
}

Nanoseconds Lane::under_way_ns(Nanoseconds now_ns) {
    if (pending_.empty()) return 0;
    return std::max<Nanoseconds>(0, now_ns - std::max(pending_.front().times.start_ns, timeline_.last_end_ns()));
}

void Lane::cut(Nanoseconds cut_ns) {
    const Pending& next = pending_.front();
    timeline_.cut(cut_ns, next.times, next.slot_ns, next.trace);
}

void Lane::cut_waiting(Nanoseconds cut_ns, Nanoseconds slot_ns) {
    StepTimes never;
    never.ready_ns = never.copy_start_ns = never.copy_end_ns = never.start_ns = never.end_ns = kUnknown;
    const std::array<RequestTrace, 1> reading{{{slot_ns, slot_ns, kUnknown, kUnknown, 1}}};
    timeline_.cut(cut_ns, never, slot_ns, reading);
}

}  // namespace feedline
