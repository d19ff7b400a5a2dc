// What a file holds, in two numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/fd.h"

namespace feedline {

struct FileSum {
    std::uint64_t bytes = 0;
    std::uint32_t crc32c = 0;
};

// Reads the whole of a file. `on_piece`, which may be empty and may throw, gets the number of bytes of every piece.
// Throws Error{io}, with ENOENT as error_number() where there is nothing.
FileSum sum_of_file(const std::string& path, const std::function<void(std::uint64_t)>& on_piece = {});

// Reads a file in parts. Belongs to one thread.
class PartReader {
public:
    // Throws Error{io}.
    explicit PartReader(std::string path);

    // Goes on with `sum`, which is of the file's first sum.bytes bytes, up to `end_bytes` or the file's end. Throws
    // Error{io}, and what `on_piece` throws.
    void add(FileSum& sum, std::uint64_t end_bytes = UINT64_MAX,
             const std::function<void(std::uint64_t)>& on_piece = {});

private:
    std::string path_;
    Fd fd_;
    std::vector<std::byte> buffer_;
};

}  // namespace feedline
