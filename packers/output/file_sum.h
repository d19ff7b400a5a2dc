// What a file holds, in two numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace feedline {

struct FileSum {
    std::uint64_t bytes = 0;
    std::uint32_t crc32c = 0;
};

// Reads the whole of a file. `on_piece`, which may be empty and may throw, gets the number of bytes of every piece.
// Throws Error{io}, with ENOENT as error_number() where there is nothing.
FileSum sum_of_file(const std::string& path, const std::function<void(std::uint64_t)>& on_piece = {});

// The same of what lies from `offset_bytes` on and up to `end_bytes`, or the file's end.
FileSum sum_of_part(const std::string& path, std::uint64_t offset_bytes, std::uint64_t end_bytes = UINT64_MAX);

}  // namespace feedline
