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

// From nothing to 6000 bytes, many of them empty or nearly so.
std::vector<std::uint64_t> some_lengths(std::size_t count, std::uint64_t seed);

// A slab as large as this order needs with these options, filled with a byte no sample is expected to end in.
std::shared_ptr<Slab> slab_for(const Dataset& dataset, const Order& order, const LoaderOptions& options);

// What a whole run of a loader gave.
struct Delivery {
    std::vector<std::vector<SampleId>> batches;  // delivered ids
    std::vector<SampleId> skipped;
};

// Samples in all of them.
std::uint64_t count_of(const std::vector<std::vector<SampleId>>& batches);

// Checks a batch: its samples are the order's, its payloads the dataset's, its times in order.
void expect_batch(const Batch& batch, const RecordDataset& dataset, const Order& order, Delivery& delivery);

// Takes and releases every batch, with each checked.
Delivery drain(Loader& loader, const RecordDataset& dataset, const Order& order);

}  // namespace feedline::test
