// Which batch is where: planned, given a slot, being read, ready, delivered, released. What the workers and the
// consumer of one Loader share.
//
// Batches pass through these stages in order, so six counters say it all:
//     released <= told <= delivered <= claimed <= placed <= planned <= total,  placed - released <= slots
// The consumer may tell ahead of time when it will release a batch; `released` follows as time passes, whenever
// somebody looks. One batch more than there are slots may be planned, so that a slot that becomes free is filled at
// once.
//
// Thread-safe. Batches are planned outside the lock, by whichever worker needs one first.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/slab.h"
#include "loaders/batch.h"
#include "loaders/failure.h"
#include "loaders/plan.h"
#include "loaders/replay.h"
#include "loaders/ring.h"

namespace feedline {

// One batch on its way. `plan` and `trace` are shared by the workers, which write to disjoint entries.
struct BatchState {
    PlannedBatch plan;
    std::vector<RequestTrace> trace;  // one a read of the plan
    Batch batch;
    std::atomic<std::uint32_t> reads_left{0};
    std::atomic<std::uint64_t> skipped_samples{0};
    std::atomic<std::uint64_t> skipped_bytes{0};
    std::mutex failures_mutex;
    FailureLog failures;  // of the skipped samples
    // Guarded by the schedule's mutex:
    std::size_t next_read = 0;
    bool ready = false;
};

// Consecutive reads of one batch, for one worker.
struct Claim {
    BatchState* batch = nullptr;
    std::uint32_t first_read = 0;
    std::uint32_t reads = 0;
    bool none_ahead = false;  // no batch is planned behind those that have a slot: a moment for plan_ahead()
};

enum class ClaimStatus {
    work,      // here it is
    no_slot,   // all slots are taken
    waiting,   // another worker is planning, or the schedule is not open yet
    finished,  // everything is claimed, or stopped
};

struct ScheduleOptions {
    unsigned slots = 8;
    std::uint64_t batches = 0;          // to deliver; may exceed the planner's: it then begins again
    bool open = true;                   // false: no claims before open()
    std::uint64_t alignment_bytes = 1;  // of every batch's start in the slab
};

class Schedule {
public:
    // `planner` and `slab` must outlive it.
    Schedule(BatchPlanner& planner, const Slab& slab, const ScheduleOptions& options);

    // ---- workers
    // Up to `max_reads` reads and, beyond the first, `max_bytes`. Never blocks for long; `seen` is for wait_change().
    // `no_slot` may also end with the time.
    ClaimStatus claim(std::size_t max_reads, std::uint64_t max_bytes, Claim& claim, std::uint64_t& seen);
    // Plans one batch ahead if none is.
    void plan_ahead();
    // Blocks until something that claim() looks at has changed since it returned `seen`, the time included.
    void wait_change(std::uint64_t seen);
    // `reads` more reads of this batch are over. If they were the last, returns the time from its first issue to its
    // being ready, and the caller must publish() it; else -1.
    Nanoseconds complete(BatchState& state, std::uint32_t reads);
    // Lets the consumer have it.
    void publish(BatchState& state);
    // Keeps the first error and stops.
    void fail(Error error);
    // From now on every batch is a copy of this one, and claims are served.
    void open(ReplayedBatch replayed);

    // ---- the consumer
    // The next batch in order; nullptr at the end or after stop(); throws the first error. With `check_every_ns` > 0
    // `check` is called whenever so long has passed in vain.
    const Batch* next(Nanoseconds check_every_ns, const std::function<void()>& check);
    void release(std::uint64_t index);
    // As BatchSource::release_at().
    void release_at(std::uint64_t index, Nanoseconds at_ns);

    // ---- anyone
    void stop();
    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

    struct Totals {
        std::uint64_t requests = 0;
        std::uint64_t bytes = 0;
        std::uint64_t delivered_samples = 0;
        Nanoseconds oversleep_ns = 0;  // how late who waited woke for slots told ahead
    };
    Totals totals() const;
    // As BatchSource::slot_since_ns().
    std::optional<Nanoseconds> slot_since_ns(std::uint64_t index) const;

private:
    BatchState& at(std::uint64_t index) { return states_[index % states_.size()]; }
    bool may_plan() const;
    void plan(std::unique_lock<std::mutex>& lock);
    void pass_time(Nanoseconds now);
    std::optional<std::uint64_t> find_room();
    void place(std::uint64_t slab_offset_bytes);
    void changed();

    BatchPlanner& planner_;
    const Slab& slab_;
    const unsigned slots_;
    const std::uint64_t total_;
    std::optional<ReplayedBatch> replayed_;

    mutable std::mutex mutex_;
    std::condition_variable change_;  // for workers
    std::condition_variable ready_;   // for the consumer
    std::vector<BatchState> states_;  // slots + 1
    // By slot: when it became free last, or will be; batch i takes slot i % slots.
    std::vector<Nanoseconds> slot_since_ns_;
    std::uint64_t planned_ = 0;
    std::uint64_t placed_ = 0;
    std::uint64_t claimed_ = 0;
    std::uint64_t delivered_ = 0;
    std::uint64_t told_ = 0;
    std::uint64_t released_ = 0;
    std::uint64_t changes_ = 0;
    bool planning_ = false;
    bool open_;
    std::atomic<bool> stopped_{false};
    std::optional<Error> error_;
    Totals totals_;
    Ring ring_;
    std::vector<SlabSpan> live_;  // find_room()'s alone, kept for its memory
};

}  // namespace feedline
