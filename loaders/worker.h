// One reading thread: an engine, the requests it has in flight, and what happens to each when it is complete.
//
// Everything but what is said to be thread-safe belongs to the thread that runs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/histogram.h"
#include "loaders/failure.h"
#include "loaders/loader.h"
#include "loaders/oldest_read.h"
#include "loaders/open_shards.h"
#include "loaders/schedule.h"

namespace feedline {

// What all workers of a Loader work with. Outlives them.
struct WorkerContext {
    const Dataset& dataset;
    OpenShards& shards;
    Slab& slab;
    Decoder* decoder;  // may be null
    const LoaderOptions& options;
    const EngineFactory& make_engine;
    Schedule& schedule;
    std::atomic<Nanoseconds>& first_issue_ns;
};

class Worker {
public:
    Worker(const WorkerContext& context, unsigned number);

    // ---- the worker's thread
    void make_engine();  // throws what the factory throws
    // Reads batch 0 with an engine of its own and opens the schedule with it.
    void prepare_replay(BatchPlanner& planner);
    // Until everything is claimed and complete, or the schedule is stopped. Failures go to the schedule; does not throw
    // them. Ends with no request in flight.
    void run();
    void drop_engine();

    // ---- thread-safe
    struct Totals {
        EngineCounters engine;
        Histogram read_latency_ns;
        Histogram batch_latency_ns;
        FailureLog failures;
        std::uint64_t skipped_samples = 0;
        Nanoseconds slot_wait_ns = 0;
    };
    Totals totals() const;  // so far

    // The read that has been in flight longest. Known only with an I/O timeout.
    OldestRead oldest() const { return oldest_.look(); }

private:
    struct InFlight {
        BatchState* batch = nullptr;
        std::uint32_t read = 0;
        std::string name;  // scratch for Dataset::source
    };

    std::size_t room() const;
    ClaimStatus refill(std::uint64_t& seen);
    void enqueue(const Claim& claim);
    void submit();
    void reap(ClaimStatus status);
    void process();
    void note_slot_wait(ClaimStatus status);

    // What becomes of one read: trace, failures, decoding.
    void finish_read(BatchState& batch, std::uint32_t read, const Completion& completion);
    void accept_part(BatchState& batch, const PlannedRead& read, const Completion& completion);
    void read_one_by_one(BatchState& batch, const PlannedRead& read);
    void decode(BatchState& batch, const PlannedRead& read);
    // Counts the sample out, or stops the run.
    void reject(BatchState& batch, const PlannedRead& read, std::uint32_t sample, const Failure& failure);
    // Why the read failed, looking at what its file has become where the error alone does not tell.
    Failure failure_of(const PlannedRead& read, const Completion& completion) const;
    // Ends the run with what failed `further_bytes` into `extent`.
    void stop_with(const Failure& failure, const Extent& extent, std::uint64_t further_bytes);
    // A blocking read beside the engine: of `sample`, or of a run of which it is the first.
    Completion read_now(SampleId sample, const Extent& extent, std::byte* destination);

    void watch_oldest();
    EngineOptions engine_options() const;

    WorkerContext context_;
    unsigned number_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Engine> beside_;  // pread, or native where there are no extents; made when first needed
    bool beside_in_use_ = false;      // what is being finished was read by it
    bool synchronous_ = false;
    bool native_ = false;   // opens for itself
    bool watched_ = false;  // for reads that hang; what the null engine is given never does
    std::size_t depth_ = 1;

    std::vector<InFlight> in_flight_;    // by tag
    std::vector<Nanoseconds> since_ns_;  // by tag; 0: not with the engine
    std::vector<std::uint64_t> free_tags_;
    std::vector<ReadRequest> backlog_;  // built and not yet accepted
    std::size_t backlog_begin_ = 0;
    std::vector<Completion> reaped_;  // [reaped_begin_, end) not yet processed
    std::size_t reaped_begin_ = 0;
    bool starved_ = false;  // the last claim found no slot

    mutable std::mutex totals_mutex_;
    Totals totals_;
    Nanoseconds starved_since_ns_ = 0;  // 0: not starved

    PublishedOldestRead oldest_;
};

}  // namespace feedline
