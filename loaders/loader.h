// Plan + engines -> filled batches, in order.
//
// `threads` workers own one engine each ("one ring a core": a buffered read is copied on the core that submits it).
// They take the next few reads of the plan in order, so a batch completes as early as it can, and the samples of a
// batch may come from several workers. The last one to finish a batch publishes it; next() hands batches out in order.
//
// A worker stuck in the kernel cannot be ended. The destructor therefore waits for the workers only briefly after an
// I/O timeout or a stop; what a stuck worker still uses (slab, dataset) is shared with it and outlives the Loader.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/histogram.h"
#include "core/slab.h"
#include "loaders/batch.h"
#include "loaders/engine/engine.h"
#include "loaders/order.h"
#include "loaders/plan.h"

namespace feedline {

enum class OnError { stop, skip };

// CPU work on a sample after it was read; its time counts as `decode`. Called from any worker, on different samples at
// once.
class Decoder {
public:
    virtual ~Decoder() = default;
    // Empty string: fine. Otherwise what is wrong with the payload, for the error message.
    virtual std::string decode(SampleId id, std::span<const std::byte> payload) = 0;
};

struct LoaderOptions {
    EngineSelection engine;
    unsigned threads = 1;       // workers, each with an engine
    unsigned queue_depth = 32;  // over all workers; synchronous engines have one request a thread
    unsigned slots = 8;         // batches in flight
    OnError on_error = OnError::stop;
    Nanoseconds io_timeout_ns = 0;  // 0: none
    std::uint64_t max_batches =
        0;                        // 0: the whole epoch; else stop after so many (wrapping over the epoch where `wrap`)
    bool wrap = false;            // after the last batch begin again at batch 0 (controls only)
    FaultHook* faults = nullptr;  // tests
};

// Totals of one epoch. Complete when the Loader is destroyed or next() has returned nullptr.
struct LoaderStats {
    std::uint64_t planned_requests = 0;
    std::uint64_t planned_bytes = 0;  // extents, without padding
    std::uint64_t delivered_samples = 0;
    std::uint64_t skipped_samples = 0;
    std::vector<Oddity> failures;  // by kind: "vanished", "shrank", "grew", "unreadable", "I/O error", "corrupt"
    Nanoseconds slot_wait_ns = 0;  // workers wanted to issue and had no slot; mean over workers
    EngineCounters engine;         // sum over workers
    Histogram read_latency_ns;     // a request, from issue to completion
    Histogram batch_latency_ns;    // first issue to ready
};

class Loader final : public BatchSource {
public:
    // Starts the workers. `slab` must be at least slab_bytes() of the plan. `decoder` may be null.
    Loader(std::shared_ptr<const Dataset> dataset, const Order& order, std::shared_ptr<Slab> slab,
           std::shared_ptr<Decoder> decoder, const LoaderOptions& options);
    ~Loader() override;

    const Batch* next() override;
    void release(std::uint64_t index) override;
    void stop() override;
    Nanoseconds first_issue_ns() const override;

    LoaderStats stats() const;  // any thread, any time: so far

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace feedline
