// How many file descriptors may be kept open for speed alone. Thread-safe.
#pragma once

#include <cstddef>

namespace feedline {

// Half of what the process may still open (RLIMIT_NOFILE): the rest is for what needs one.
std::size_t descriptor_budget();

}  // namespace feedline
