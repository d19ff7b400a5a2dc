// What is to be read, batch by batch, and where each byte goes: a pure function of dataset, order and alignment.
//
// A batch's records are laid out one after the other in the order of its samples, or, where neighbours of one shard
// follow each other, as one run that is read with one request, with the few bytes that may lie between them. Where the
// batch goes in the slab is decided when it gets its slot (ring.h); in a slab of the size that staging_need() says, any
// `slots` consecutive batches find room.
//
// Thread-safety: BatchPlanner is used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "loaders/batch.h"
#include "loaders/engine/engine.h"
#include "loaders/order.h"

namespace feedline {

// One read: a sample, or a run of neighbours in one shard.
struct PlannedRead {
    Extent extent;                         // of the whole run, gaps included
    std::uint64_t batch_offset_bytes = 0;  // destination, from the batch's start
    std::uint32_t first_sample = 0;        // in PlannedBatch::samples
    std::uint32_t samples = 1;
};

struct PlannedBatch {
    std::uint64_t index = 0;
    std::uint64_t slab_offset_bytes = 0;  // where it lies; the planner leaves it alone
    std::uint64_t bytes = 0;              // span from there, padding included
    std::uint64_t payload_bytes = 0;
    std::vector<SampleView> samples;  // offsets from the batch's start
    std::vector<PlannedRead> reads;
};

struct PlanOptions {
    Alignment alignment{};
    unsigned slots = 8;
    // No run is longer, unless one record is: what Linux sends to a disk as one request (1280 KiB) less the blocks that
    // a direct read begins and ends with.
    std::uint64_t run_bytes = (1280U - 8U) << 10U;
    // What may lie between two records of a run, read and not used: a header, or the rest of a page.
    std::uint64_t gap_bytes = 4096;
    bool one_by_one = false;  // no runs at all
};

// As `engine` reads.
PlanOptions plan_options(const EngineSelection& engine, unsigned slots);

// Every batch and every request in it starts on a multiple of this: on a cache line of its own, so that two workers
// never write to one line and the kernel copies faster, or where a direct read must.
std::uint64_t start_alignment(const Alignment& alignment);

// Memory that orders ask for.
struct StagingNeed {
    std::uint64_t slab_bytes = 0;       // of ring, so that any `slots` consecutive batches find room
    std::uint64_t max_batch_bytes = 0;  // the longest span of one batch: what a device buffer must hold
};

// What these orders (one an epoch) need. From the true sizes of all batches up to about
// 20 million samples, above that an upper bound from the longest record.
StagingNeed staging_need(const Dataset& dataset, std::span<const Order> epochs, const PlanOptions& options);
// The same for orders that are made when they are looked at: there may be billions of epochs.
StagingNeed staging_need(const Dataset& dataset, const std::function<Order(std::uint64_t epoch)>& order_of,
                         std::uint64_t epochs, const PlanOptions& options);

class BatchPlanner {
public:
    // `dataset` and `order` must outlive it.
    BatchPlanner(const Dataset& dataset, const Order& order, const PlanOptions& options, std::uint64_t slab_bytes);

    std::uint64_t batches() const { return order_.batches(); }
    // Plans the next batch into `out`, whose vectors are reused. False when there is none left. Throws Error{usage}
    // when a batch alone is larger than the slab.
    bool next(PlannedBatch& out);
    // The next batch is batch 0 again.
    void rewind() { next_batch_ = 0; }

private:
    void append(std::size_t first, std::size_t count, const Extent& run, PlannedBatch& out) const;

    const Dataset& dataset_;
    const Order& order_;
    PlanOptions options_;
    std::uint64_t slab_bytes_;
    std::uint64_t next_batch_ = 0;
    std::vector<SampleId> ids_;
    std::vector<Extent> extents_;  // of the batch being planned
};

}  // namespace feedline
