// Open descriptors of a dataset's directories, so that a file is opened by its name alone. Where there are more
// directories than descriptors to spend, a name relative to the nearest open ancestor is composed instead.
//
// Thread-safety: immutable after construction.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/fd.h"
#include "loaders/files/index.h"

namespace feedline {

class DirectoryHandles {
public:
    // Opens at most `budget` directories, those with the most files first, and beyond it only what no path of PATH_MAX
    // bytes can reach. Throws Error{io} if such a one cannot be opened.
    DirectoryHandles(const FileIndex& index, Fd root, const std::string& root_path, std::size_t budget);

    struct Place {
        int dir_fd;
        FileIndex::DirectoryId directory;  // that dir_fd is
    };
    // The nearest open ancestor, or the directory itself.
    Place nearest(FileIndex::DirectoryId directory) const;
    std::size_t open() const { return open_; }

private:
    const FileIndex& index_;
    std::vector<Fd> fds_;  // by directory; empty where not open
    std::size_t open_ = 1;
};

}  // namespace feedline
