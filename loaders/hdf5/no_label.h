// What stands in the packed layout for a sample that has no label among others that have one.
#pragma once

#include <cstdint>
#include <limits>

namespace feedline::hdf5 {

constexpr std::int64_t kNoLabel = std::numeric_limits<std::int64_t>::min();

}  // namespace feedline::hdf5
