// What a filesystem has room for, and the errors of one that has not.
//
// Thread-safety: pure functions of the filesystem.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace feedline {

struct FreeSpace {
    std::uint64_t block_bytes = 1;
    std::uint64_t bytes = 0;
    std::uint64_t inodes = 0;  // the largest number where the filesystem has no fixed count
};

// Of the filesystem that `directory` is on. Throws Error{io}.
FreeSpace free_space(const std::string& directory);

// Error{out_of_space}: "there is no room: NEEDS 12 GB, and 3 GB are free".
Error no_room(std::string_view needs, double bytes, const FreeSpace& space, const std::string& path);

// The error of a write to the file `path`, or of its making, that failed: a full filesystem is told with what is left.
Error cannot_write(int error_number, const std::string& path, std::uint64_t offset_bytes,
                   std::string_view when_full = "Make room and go on with --resume");

}  // namespace feedline
