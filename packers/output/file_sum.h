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

}  // namespace feedline
