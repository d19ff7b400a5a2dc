#include "bench/audit.h"

#include <algorithm>

namespace feedline {

void DeliveryAudit::deliver(std::span<const SampleView> samples) {
    for (const SampleView& sample : samples) {
        if (sample.id >= samples_) {
            ++repeated_;
            continue;
        }
        std::uint64_t& word = seen_[sample.id / 64];
        const std::uint64_t bit = std::uint64_t{1} << (sample.id % 64);
        if ((word & bit) != 0) {
            ++repeated_;
            continue;
        }
        word |= bit;
        ++(sample.status == SampleStatus::ok ? delivered_ : skipped_);
    }
}

void DeliveryAudit::reset() {
    std::fill(seen_.begin(), seen_.end(), 0);
    delivered_ = 0;
    skipped_ = 0;
    repeated_ = 0;
}

}  // namespace feedline
