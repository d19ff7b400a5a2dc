// Walks a directory tree with several threads: names and lengths of all regular files, in an order that depends
// on neither the filesystem nor the threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "loaders/files/file_list.h"
#include "loaders/files/oddity_counter.h"

namespace feedline {

// What tells two directories apart, however they were reached.
struct DirectoryIdentity {
    dev_t device = 0;
    ino_t inode = 0;

    bool operator==(const DirectoryIdentity&) const = default;
    bool operator<(const DirectoryIdentity& other) const {
        return device != other.device ? device < other.device : inode < other.inode;
    }
};

struct ScannedDirectory {
    ScannedDirectory* parent = nullptr;  // null: the root
    std::string name;                    // raw bytes; empty: the root
    DirectoryIdentity identity;
    bool is_link = false;
    bool was_read = false;  // false: could not be opened, or was indexed elsewhere
    FileList files;
    std::vector<ScannedDirectory*> children;  // sorted byte-wise by name
};

// Path relative to the root, raw bytes; of `name` in `directory` if one is given.
std::string relative_path(const ScannedDirectory& directory, std::string_view name = {});

struct ScannedTree {
    std::deque<ScannedDirectory> directories;  // [0] is the root; otherwise in no order
    OddityCounter oddities;
};

struct ScanOptions {
    unsigned threads = 1;
    bool include_hidden = false;
    // Asks for the type of every entry, as on filesystems whose readdir does not tell.
    bool distrust_types = false;
    void (*progress)(std::uint64_t files, void* context) = nullptr;
    void* progress_context = nullptr;
};

// `root_fd` is open for reading and stays the caller's; `root_path` is for messages. Throws Error{io} when the system
// fails in a way that would make the answer wrong (an I/O error, no descriptors left), and what `progress` throws.
ScannedTree scan_tree(int root_fd, const std::string& root_path, const ScanOptions& options);

}  // namespace feedline
