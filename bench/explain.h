// The verdict in words. Pure functions; every text is one line.
#pragma once

#include <string>

#include "bench/result.h"

namespace feedline {

// What holds the accelerators up, by which figure, what makes that figure doubtful (memory in place of storage, a short
// run, noise), and the next thing to try.
std::string explain(const Result& result);

// "overlapping is worth: 61.0 % -> 97.0 % busy": the serial control against the run. Empty without both figures, and
// where the control found another cache.
std::string overlap_worth(const Result& result);

}  // namespace feedline
