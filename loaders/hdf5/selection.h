// Which datasets of a file hold the samples: what writers have agreed on, else the only one there is, else the user
// says.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "loaders/hdf5/file.h"

namespace feedline::hdf5 {

struct Selection {
    enum class Kind {
        rows,    // sample i is row i of every column
        packed,  // sample i is what lies in the one column between two offsets
    };
    Kind kind = Kind::rows;
    std::vector<DatasetDescription> columns;  // in the order of a record's parts; at least one
    std::string labels;                       // empty: none
    std::string unused_labels;                // what looks like labels where there are none; empty: nothing does
    std::string offsets;                      // packed
    std::string keys;                         // empty: none
    std::string key_offsets;                  // where `keys` is one run of bytes; else empty
    std::vector<std::string> passed_over;     // datasets that hold something else

    // For people: "images uint8 [32,32,3] with labels". Shards of one dataset have the same.
    std::string words() const;
};

// `wanted`: the dataset that the user names, with or without the slash; empty: to be found. Throws Error{usage} where
// that is not one, with what there is to choose from.
Selection select(const std::string& path, const Contents& contents, const std::string& wanted);

}  // namespace feedline::hdf5
