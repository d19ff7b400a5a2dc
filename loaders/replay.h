// The null-storage control's one real batch, laid out in the slab as often as it fits, up to once a slot.
//
// Thread-safety: immutable after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "core/slab.h"
#include "loaders/batch.h"
#include "loaders/plan.h"

namespace feedline {

class ReplayedBatch {
public:
    // `read` has been read into the slab, at its start. Copies its bytes to the other places.
    ReplayedBatch(const PlannedBatch& read, Slab& slab, unsigned slots);

    // Makes `plan`, the batch with this index, a replay: same number of samples, as long as there are so many.
    void apply(PlannedBatch& plan, std::uint64_t index) const;
    // Of the first `samples` samples.
    std::uint64_t skipped(std::size_t samples) const;

private:
    std::vector<SampleView> samples_;
    std::uint64_t bytes_;
    std::uint64_t payload_bytes_ = 0;
    bool any_skipped_ = false;
    std::uint64_t stride_bytes_;
    std::uint64_t places_;
};

}  // namespace feedline
