// The compact index of a tree: what stays in memory of a scan. About 30 bytes a file with names of 20 bytes.
//
// Directories come in pre-order, siblings sorted byte-wise by name; a directory's own files come before those of its
// subdirectories, sorted byte-wise by name. That is the order of the samples. Directories without a file below them
// are left out.
//
// Thread-safety: immutable after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loaders/files/scan.h"

namespace feedline {

class FileIndex {
public:
    using FileId = std::uint32_t;
    using DirectoryId = std::uint32_t;
    static constexpr DirectoryId kRoot = 0;

    // Takes the files out of `tree`, directory by directory, so that not all is held twice. Throws Error{unsupported}
    // above 2^32 - 1 files.
    explicit FileIndex(ScannedTree& tree);

    FileId files() const { return static_cast<FileId>(lengths_.size()); }
    DirectoryId directories() const { return static_cast<DirectoryId>(directories_.size()); }
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t max_length_bytes() const { return max_length_bytes_; }

    std::uint64_t length_bytes(FileId file) const {
        return lengths_[file] != kLongLength ? lengths_[file] : long_length_bytes(file);
    }
    // Brings the length of `file` near, for a call to length_bytes() some hundred cycles later.
    void prefetch_length(FileId file) const { __builtin_prefetch(lengths_.data() + file); }

    // The same for name().
    void prefetch_name(FileId file) const { __builtin_prefetch(name_offsets_.data() + file); }

    const char* name(FileId file) const { return name(file, directory_of(file)); }
    const char* name(FileId file, DirectoryId directory) const {
        return directories_[directory].names.get() + name_offsets_[file];
    }
    DirectoryId directory_of(FileId file) const;

    DirectoryId parent(DirectoryId directory) const { return directories_[directory].parent; }
    std::string_view directory_name(DirectoryId directory) const;
    std::uint32_t files_directly_in(DirectoryId directory) const {
        return first_files_[directory + 1] - first_files_[directory];
    }
    // The ancestor directly below the root, or the root itself.
    DirectoryId class_directory(DirectoryId directory) const { return directories_[directory].class_directory; }
    // Path of `directory`, or of `name` in it, relative to its ancestor `base`. Raw bytes.
    std::string relative_path(DirectoryId directory, DirectoryId base, std::string_view name = {}) const;

private:
    struct Directory {
        std::unique_ptr<char[]> names;  // of its files
        std::uint64_t name_offset;      // into directory_names_
        std::uint32_t name_bytes;
        DirectoryId parent;  // the root's is the root
        DirectoryId class_directory;
    };
    std::uint64_t long_length_bytes(FileId file) const;
    void add(ScannedDirectory& scanned, DirectoryId parent);

    std::vector<std::uint32_t> name_offsets_;  // of file i within the names of its directory
    std::vector<std::uint32_t> lengths_;
    std::vector<std::pair<FileId, std::uint64_t>> long_lengths_;  // sorted
    std::vector<Directory> directories_;
    std::vector<FileId> first_files_;  // of directory i; one more at the end
    std::string directory_names_;
    std::uint64_t bytes_ = 0;
    std::uint64_t max_length_bytes_ = 0;
};

}  // namespace feedline
