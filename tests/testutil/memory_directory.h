// Where tests that flush a filesystem put their data: flushing a disk also flushes whatever else is going on there.
#pragma once

#include <unistd.h>

#include <string_view>

namespace feedline::test {

// A directory in memory, or "" (the default of TempDir) where there is none.
inline std::string_view memory_directory() {
    return ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "";
}

}  // namespace feedline::test
