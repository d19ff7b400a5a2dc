// What the loader's tests share: options, a slab of the right size, and a consumer that checks what it gets.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "loaders/loader.h"
#include "tests/loaders/record_dataset.h"

namespace feedline::test {

inline OrderOptions shuffled(std::uint64_t batch_size, std::uint64_t seed = 3) {
    return {.seed = seed, .batch_size = batch_size};
}

// A slab as large as this order needs with these options, filled with a byte no sample is expected to end in.
std::shared_ptr<Slab> slab_for(const Dataset& dataset, const Order& order, const LoaderOptions& options);

// What a whole run of a loader gave.
struct Delivery {
    std::vector<std::vector<SampleId>> batches;  // delivered ids
    std::vector<SampleId> skipped;
};

// Checks a batch: its samples are the order's, its payloads the dataset's, its times in order.
void expect_batch(const Batch& batch, const RecordDataset& dataset, const Order& order, Delivery& delivery);

// Takes and releases every batch, with each checked.
Delivery drain(Loader& loader, const RecordDataset& dataset, const Order& order);

}  // namespace feedline::test
