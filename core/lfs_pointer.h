// Git LFS leaves a small text file where the data were not fetched. Training on those is a mistake that nothing else
// would show: the files are there and can be read.
#pragma once

#include <cstdint>

namespace feedline {

// A pointer has about 130 bytes: three lines, one of them a SHA-256
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
constexpr bool may_be_lfs_pointer(std::uint64_t length_bytes) {
    return length_bytes >= 100 && length_bytes <= 200;
}

// Reads the beginning of the file, named as for openat; false where it cannot be read.
bool is_lfs_pointer(int dir_fd, const char* name);

}  // namespace feedline
