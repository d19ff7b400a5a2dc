// Files of one directory on their way from readdir to the FileList. Not thread-safe.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "loaders/files/file_list.h"

namespace feedline {

struct FileBatch {
    // What readdir says of an entry.
    enum class Hint : std::uint32_t { regular, link, unknown };

    struct Entry {
        std::uint32_t name_offset;  // into names
        // Bytes, or kLongLength. Until the length is known: the low bits of the inode number, and below them the Hint.
        std::uint32_t length;

        Hint hint() const { return static_cast<Hint>(length & 3U); }
    };

    std::vector<char> names;  // NUL-terminated
    std::vector<Entry> entries;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> long_lengths;  // (name_offset, bytes)

    void add(const char* entry_name, std::uint64_t inode, Hint hint);
    void set_length(Entry& entry, std::uint64_t bytes);
    void clear();

    const char* name(const Entry& entry) const { return names.data() + entry.name_offset; }
    std::uint64_t length_bytes(const Entry& entry) const;

    // Before lengths are known. Asking in this order reads the inode tables of a disk from front to back, and even in
    // memory it is a little faster.
    void sort_by_inode();

    struct SortKey {
        std::uint64_t bytes;  // the eight after what all names of the batch begin with, most significant first
        Entry entry;
    };
    // Byte-wise. `scratch` is memory to reuse.
    void sort_by_name(std::vector<SortKey>& scratch);
};

// The sorted batches of one directory as its list. Throws Error{unsupported} above 4 GiB of names.
FileList merge(const std::vector<const FileBatch*>& batches);

}  // namespace feedline
