// A ZIP archive by its central directory: which entries there are, and where the bytes of one lie.
//
// Numbers are believed only as far as the file's size bears them out, so that a wrong one costs nothing. Layout: .ZIP
// File Format Specification 6.3 (PKWARE, APPNOTE.TXT).
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loaders/shards/window.h"

namespace feedline::pth {

struct ZipEntry {
    std::string_view name;  // raw bytes; as long as the archive
    std::uint64_t size_bytes = 0;
    std::uint64_t stored_bytes = 0;   // in the file; the same where nothing is compressed
    std::uint64_t header_offset = 0;  // of its local header
    std::uint32_t crc32 = 0;
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
};

class ZipArchive {
public:
    // Reads the central directory. `file` must outlive the archive. Throws Error{io, changed}, and Error{corrupt} with
    // the offset for a file that is truncated or contradicts itself.
    explicit ZipArchive(FileWindow& file);
    ZipArchive(const ZipArchive&) = delete;
    ZipArchive& operator=(const ZipArchive&) = delete;

    std::span<const ZipEntry> entries() const { return entries_; }
    const ZipEntry* find(std::string_view name) const;  // null: there is none

    // Where the bytes of `entry`, as they are in the file, begin. Throws Error{usage} for one that is compressed or
    // encrypted, Error{corrupt} where its local header says something else than the directory.
    std::uint64_t data_offset(const ZipEntry& entry) const;

private:
    struct Directory {
        std::uint64_t offset_bytes;
        std::uint64_t size_bytes;
        std::uint64_t entries;
        std::uint64_t end_bytes;  // where what follows the directory begins
    };
    Directory find_directory() const;
    void read_directory(const Directory& directory);
    void check_end(const ZipEntry& entry, std::uint64_t end_bytes) const;

    FileWindow& file_;
    std::vector<std::byte> directory_;
    std::uint64_t directory_offset_ = 0;
    std::vector<ZipEntry> entries_;
    std::unordered_map<std::string_view, std::size_t> by_name_;
    std::vector<std::uint64_t> header_offsets_;  // ascending
};

}  // namespace feedline::pth
