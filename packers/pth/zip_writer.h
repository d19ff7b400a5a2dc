// A ZIP of stored entries, written from its beginning to its end into a file: sizes and checksums follow the data, as
// in the files of torch.save. Every entry's data begin on a multiple of 64 bytes of the file.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "packers/output/new_file.h"

namespace feedline::pth {

class ZipWriter {
public:
    // `file` is empty, and outlives the writer.
    explicit ZipWriter(NewFile& file) : file_(file) {}

    // An entry of any size: begin(), append() as often as needed, end(). `name` is UTF-8.
    void begin(std::string_view name);
    void append(std::span<const std::byte> bytes);
    void end();
    void add(std::string_view name, std::string_view content);
    // The central directory. The file itself is left to its owner.
    void finish();

    // Of the entry that was begun last.
    std::uint64_t entry_bytes() const { return size_bytes_; }

private:
    NewFile& file_;
    std::string directory_;
    std::uint64_t entries_ = 0;
    std::string name_;
    std::uint64_t header_offset_ = 0;
    std::uint64_t size_bytes_ = 0;
    std::uint32_t crc32_ = 0;
};

}  // namespace feedline::pth
