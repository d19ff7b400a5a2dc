// The first bytes of a file, to tell what it is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace feedline {

// Fewer where the file is shorter; none where it cannot be read. Does not block on pipes. Thread-safe.
std::vector<std::byte> beginning_of(const std::string& path, std::size_t bytes);

}  // namespace feedline
