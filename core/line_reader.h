// A text file line by line, in bounded memory.
//
// Only regular files: a pipe in a file's place must not be waited for. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/fd.h"

namespace feedline {

class LineReader {
public:
    // Throws Error{io} where the file cannot be opened or is none, with ENOENT as error_number() where there is
    // nothing.
    explicit LineReader(std::string path);

    // The next line, without its end; false behind the last one. Throws Error{io}, and
    // Error{corrupt} for a line of more than 16 MiB: whatever has one is no text.
    bool next(std::string& line);

    std::uint64_t offset_bytes() const { return offset_bytes_; }  // where the line of the last next() begins
    bool was_cut() const { return cut_; }                         // it has no end: the file ends in it
    std::uint32_t crc32c() const { return crc32c_; }              // of all that was read

private:
    bool fill();

    std::string path_;
    Fd fd_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::uint64_t offset_bytes_ = 0;
    std::uint64_t next_offset_bytes_ = 0;
    std::uint64_t read_bytes_ = 0;
    std::uint32_t crc32c_ = 0;
    bool cut_ = false;
};

// The whole of a regular file. Throws as LineReader does.
std::string read_text(const std::string& path);

}  // namespace feedline
