// What a dataset is: shards, sizes, labels, first keys, and what a person should know before using it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

struct SizeDistribution {
    std::uint64_t smallest_bytes = 0;
    std::uint64_t p10_bytes = 0;
    std::uint64_t p50_bytes = 0;
    std::uint64_t p90_bytes = 0;
    std::uint64_t p99_bytes = 0;
    std::uint64_t largest_bytes = 0;
    double mean_bytes = 0;
    bool of_all = true;  // else of samples at even distances
};

// One of the first samples.
struct InspectedSample {
    std::string key;
    std::string path;  // that it was made from; empty: not known
    std::uint64_t record_bytes = 0;
    std::vector<std::pair<std::string, std::uint64_t>> parts;  // name, bytes
    Label label;
    std::string class_name;
    std::string problem;
};

struct Description {
    DatasetInfo info;
    bool has_extents = true;
    bool has_manifest = false;
    SizeDistribution sizes;
    std::vector<InspectedSample> first;
    // Of what was looked into: how many samples have a label of which kind. Classes are in `info`, or from the
    // manifest.
    std::uint64_t looked_into = 0;
    std::uint64_t with_number = 0;
    std::uint64_t with_list = 0;
    std::uint64_t with_text = 0;
    std::uint64_t damaged = 0;
    std::vector<std::string> warnings;
};

// Looks at all lengths (of a million samples at most) and into `samples` records at even distances. Throws Error{io,
// corrupt} where a record cannot be read at all.
Description inspect(const std::shared_ptr<const Dataset>& dataset, std::uint64_t first, std::uint64_t samples);

}  // namespace feedline
