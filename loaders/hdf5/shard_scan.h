// What one HDF5 file holds of a dataset: where its samples lie, their labels and keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/hdf5/selection.h"
#include "loaders/shards/key_list.h"

namespace feedline::hdf5 {

struct ScannedShard {
    Selection selection;
    std::uint64_t samples = 0;

    // Where records begin: in the file, or, where `obstacle` says why they do not lie there, in the stream of all
    // records. Of equal length there is no list of lengths.
    std::string obstacle;
    std::vector<std::uint64_t> offsets;  // by sample; empty: sample i begins at i * row_bytes
    std::vector<std::uint64_t> lengths;  // by sample; empty: all row_bytes
    std::uint64_t row_bytes = 0;
    std::uint64_t begin_bytes = 0;  // packed: what offsets count from

    std::vector<std::uint64_t> part_bytes;  // of each column's row, where there are several

    std::vector<std::int64_t> labels;  // labels_a_sample for each sample; empty: none
    std::uint64_t labels_a_sample = 0;
    std::vector<ClassName> classes;  // without counts; empty: the file names none
    KeyList keys;                    // empty: none
    std::vector<Oddity> oddities;

    std::uint64_t offset(std::uint64_t sample) const { return offsets.empty() ? sample * row_bytes : offsets[sample]; }
    std::uint64_t length(std::uint64_t sample) const { return lengths.empty() ? row_bytes : lengths[sample]; }
};

// `wanted`: as the user named the dataset, or empty. Takes LibraryLock. Throws Error{usage, corrupt, io, changed}.
ScannedShard scan_shard(const std::string& path, const std::string& wanted);

}  // namespace feedline::hdf5
