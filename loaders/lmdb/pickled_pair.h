// A value of a file by folder2lmdb: a pickle of (bytes of an image, label), as Python 3 writes it (protocols 3 to 5).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "loaders/dataset.h"

namespace feedline::lmdb {

struct PickledPair {
    std::span<const std::byte> data;  // a view into the value
    Label label;                      // a number or text; nothing where it is something else
};

// Nothing when the value is no such pickle. Takes time and memory by what stands beside the bytes, which is little.
std::optional<PickledPair> parse_pickled_pair(std::span<const std::byte> value);

}  // namespace feedline::lmdb
