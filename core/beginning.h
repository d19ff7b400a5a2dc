// The first bytes of a file, to tell what it is.
#pragma once

#include <cstddef>
#include <vector>

namespace feedline {

// Named as for openat. Fewer where the file is shorter, none where it cannot be read. Does not wait for a pipe's
// writer. Thread-safe.
std::vector<std::byte> beginning_of(int dir_fd, const char* name, std::size_t bytes);

}  // namespace feedline
