// Plan + engines -> filled batches, in order.
//
// `threads` workers own one engine each ("one ring a core": a buffered read is copied on the core that submits it).
// They take the next few reads of the plan in order, so a batch completes as early as it can, and the samples of a
// batch may come from several workers. The last one to finish a batch publishes it; next() hands batches out in order.
//
// A worker stuck in the kernel cannot be ended. The destructor therefore waits for the workers only briefly; what a
// stuck worker still uses (slab, dataset, decoder) is shared with it and outlives the Loader. Slab::use_count() of the
// caller's pointer, or finish(), tells whether such a worker may still write into the slab: then it must not be used
// again.
//
// The null-storage control. With engine null and `replay`, batch 0 is read once, truly, and its bytes are laid out in
// the slab for as many batches in flight as find room. Every batch of the epoch is then planned as always - its order
// drawn, its samples located, its requests built, named, submitted and reaped - but what is handed out are batch 0's
// samples in one of those places. So everything but the storage is paid for, and decoders and copies work on real
// bytes. A batch shorter than batch 0 gets as many of its samples; ids repeat, so no delivery audit applies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/histogram.h"
#include "core/slab.h"
#include "loaders/batch.h"
#include "loaders/decode/decoder.h"
#include "loaders/engine/engine.h"
#include "loaders/order.h"
#include "loaders/plan.h"

namespace feedline {

enum class OnError { stop, skip };

using EngineFactory = std::function<std::unique_ptr<Engine>(const EngineOptions&)>;

struct LoaderOptions {
    EngineSelection engine{};
    unsigned threads = 1;       // workers, each with an engine
    unsigned queue_depth = 32;  // over all workers; synchronous engines have one request a thread
    unsigned slots = 8;         // batches in flight
    OnError on_error = OnError::stop;
    Nanoseconds io_timeout_ns = 0;  // 0: none
    std::uint64_t max_batches =
        0;                        // 0: the whole epoch; else stop after so many (wrapping over the epoch where `wrap`)
    bool wrap = false;            // after the last batch begin again at batch 0 (controls only)
    bool replay = false;          // engine null only: the null-storage control, see above
    FaultHook* faults = nullptr;  // tests
    EngineFactory make_engine;    // tests; empty: feedline::make_engine
};

// Totals of one epoch. Complete when the Loader is destroyed or next() has returned nullptr.
struct LoaderStats {
    std::uint64_t planned_requests = 0;  // taken by a worker
    std::uint64_t planned_bytes = 0;     // extents, without padding
    std::uint64_t delivered_samples = 0;
    std::uint64_t skipped_samples = 0;
    std::vector<Oddity> failures;  // by kind: "vanished", "shrank", "grew", "unreadable", "I/O error", "corrupt"
    Nanoseconds oversleep_ns = 0;  // how late workers woke for slots that were released ahead of time
    Nanoseconds slot_wait_ns = 0;  // workers wanted to issue and had no slot; mean over workers
    EngineCounters engine;         // sum over workers
    Histogram read_latency_ns;     // a request, from issue to completion
    Histogram batch_latency_ns;    // first issue to ready
};

class Loader final : public BatchSource {
public:
    // Starts the workers. `slab` must hold at least staging_need() of the order. `decoder` may be null. Throws what
    // making an engine throws, and Error{usage} for options that contradict each other.
    Loader(std::shared_ptr<const Dataset> dataset, const Order& order, std::shared_ptr<Slab> slab,
           std::shared_ptr<Decoder> decoder, const LoaderOptions& options);
    ~Loader() override;

    const Batch* next() override;
    void release(std::uint64_t index) override;
    bool waits_for_slots() const override { return true; }
    void release_at(std::uint64_t index, Nanoseconds at_ns) override;
    void stop() override;
    Nanoseconds first_issue_ns() const override;
    std::optional<Nanoseconds> slot_since_ns(std::uint64_t index) const override;

    // stop(), and waits up to `timeout_ns` for the workers. True: all have ended, and nothing will touch the slab any
    // more. False: at least one is still in the kernel.
    bool finish(Nanoseconds timeout_ns);

    // The read that has been in flight longest, as the error that it would be, if that is longer than `longer_than_ns`.
    // Known only with an I/O timeout. Any thread.
    std::optional<Error> hung_read(Nanoseconds longer_than_ns) const;

    LoaderStats stats() const;  // any thread, any time: so far

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace feedline
