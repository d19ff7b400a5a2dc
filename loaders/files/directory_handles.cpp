#include "loaders/files/directory_handles.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <numeric>

#include "core/error.h"
#include "loaders/files/open_below.h"

namespace feedline {
namespace {

constexpr std::size_t kLongestNameBytes = 255;

}  // namespace

DirectoryHandles::DirectoryHandles(const FileIndex& index, Fd root, const std::string& root_path, std::size_t budget)
    : index_(index), fds_(index.directories()) {
    fds_[FileIndex::kRoot] = std::move(root);
    const int root_fd = fds_[FileIndex::kRoot].get();

    // Directories so deep that the path of a file in them, from the nearest open ancestor, could reach PATH_MAX.
    std::vector<std::size_t> path_bytes(index.directories());
    std::vector<bool> needed(index.directories());
    for (FileIndex::DirectoryId d = 1; d < index.directories(); ++d) {
        path_bytes[d] = path_bytes[index.parent(d)] + index.directory_name(d).size() + 1;
        if (path_bytes[d] + kLongestNameBytes < PATH_MAX) continue;
        needed[d] = true;
        path_bytes[d] = 0;
        fds_[d] = Fd(open_directory_below(root_fd, index.relative_path(d, FileIndex::kRoot)));
        if (!fds_[d]) {
            throw system_error(errno, "cannot open directory",
                               root_path + "/" + index.relative_path(d, FileIndex::kRoot));
        }
        ++open_;
    }

    std::vector<FileIndex::DirectoryId> candidates;
    for (FileIndex::DirectoryId d = 1; d < index.directories(); ++d) {
        if (!needed[d] && index.files_directly_in(d) != 0) candidates.push_back(d);
    }
    if (candidates.size() > budget) {
        std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(budget), candidates.end(),
                         [&](auto a, auto b) {
                             const auto files_a = index.files_directly_in(a);
                             const auto files_b = index.files_directly_in(b);
                             return files_a != files_b ? files_a > files_b : a < b;
                         });
        candidates.resize(budget);
    }
    for (const FileIndex::DirectoryId d : candidates) {
        const Place from = nearest(d);
        fds_[d] =
            Fd(openat(from.dir_fd, index.relative_path(d, from.directory).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        // Gone or without descriptors: the composed name is tried when a file is opened, and fails there if it must.
        if (!fds_[d]) continue;
        ++open_;
    }
}

DirectoryHandles::Place DirectoryHandles::nearest(FileIndex::DirectoryId directory) const {
    while (!fds_[directory]) directory = index_.parent(directory);
    return {fds_[directory].get(), directory};
}

}  // namespace feedline
