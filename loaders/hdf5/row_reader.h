// Samples read by libhdf5: the way in for what lies nowhere in plain, and the yardstick for what does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/hdf5/selection.h"

namespace feedline::hdf5 {

// What a reader must know of a file. Immutable.
struct ShardRows {
    std::string path;
    std::uint64_t size_bytes = 0;    // when it was indexed
    std::uint64_t first_sample = 0;  // the one in row 0
    std::uint64_t begin_bytes = 0;   // packed: what extents count from
};

struct Source {
    Selection::Kind kind = Selection::Kind::rows;
    std::vector<std::string> columns;
    std::vector<ShardRows> shards;
};

// Takes LibraryLock for every read. Keeps some shards open, with as much memory as a row's chunks take, so that what is
// read in order is inflated once; what is read at random may be inflated once a sample.
std::unique_ptr<NativeReader> make_row_reader(std::shared_ptr<const Source> source);

}  // namespace feedline::hdf5
