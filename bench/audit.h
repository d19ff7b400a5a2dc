// Was every sample delivered exactly once? A bitmap over the dataset, one bit a sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loaders/batch.h"

namespace feedline {

// Not thread-safe.
class DeliveryAudit {
public:
    explicit DeliveryAudit(std::uint64_t samples) : seen_((samples + 63) / 64), samples_(samples) {}

    void deliver(std::span<const SampleView> samples);
    // For the next epoch: nothing was seen.
    void reset();

    std::uint64_t delivered() const { return delivered_; }  // distinct ids with a payload
    std::uint64_t skipped() const { return skipped_; }      // distinct ids given up on
    std::uint64_t repeated() const { return repeated_; }    // deliveries of ids seen before, or out of range
    // None twice, and delivered + skipped = `expected`: the samples of the epoch, or with an early end those of the
    // batches that were asked for.
    bool once(std::uint64_t expected) const { return repeated_ == 0 && delivered_ + skipped_ == expected; }

private:
    std::vector<std::uint64_t> seen_;
    std::uint64_t samples_;
    std::uint64_t delivered_ = 0;
    std::uint64_t skipped_ = 0;
    std::uint64_t repeated_ = 0;
};

}  // namespace feedline
