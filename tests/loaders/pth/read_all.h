// A .pth dataset read in both ways that there are.
#pragma once

#include <map>
#include <string>

#include "loaders/dataset.h"

namespace feedline::test {

// The bytes of a sample as the format's own reader has them.
std::string by_reader(const Dataset& dataset, SampleId id);
// As they lie in the file; only where the dataset has extents.
std::string by_extent(const Dataset& dataset, SampleId id);

}  // namespace feedline::test
