#pragma once

#include <string>

namespace feedline {

// Opens a directory below `root_fd` however long its path is: a path of PATH_MAX (4096) bytes or more is walked in
// pieces. -1 and errno on failure. Thread-safe.
int open_directory_below(int root_fd, const std::string& relative_path);

}  // namespace feedline
