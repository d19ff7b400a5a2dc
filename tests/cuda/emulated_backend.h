#pragma once

#include "tests/cuda/backend.h"

namespace feedline::test {

// On a clock that jumps, so that thousands of steps take no time.
Backend emulated_backend();

}  // namespace feedline::test
