// Which engine was best on a tier that was measured in more than one way, and how sure that is.
#pragma once

#include <string>
#include <vector>

#include "bench/result.h"

namespace feedline {

// "best on disk: uring, 1,770 samples/s, 12.0 % more than pread": one line for each such tier. It says so where they
// are too close to call (within 2 %, or rounds that overlap), were measured once only, or cannot be compared: not under
// the same state of the cache, unless the best read more from storage than all others.
std::vector<std::string> best_lines(const std::vector<Result>& results);

}  // namespace feedline
