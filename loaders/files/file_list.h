// The regular files of one directory: names and lengths in 8 bytes a file and the names themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace feedline {

// Stands in a 32-bit length for one that does not fit; the true one is in a table beside it.
inline constexpr std::uint32_t kLongLength = UINT32_MAX;

// Sorted byte-wise by name.
struct FileList {
    std::unique_ptr<char[]> names;                                      // NUL-terminated, one after the other
    std::vector<std::uint32_t> name_offsets;                            // into names
    std::vector<std::uint32_t> lengths;                                 // bytes, or kLongLength
    std::vector<std::pair<std::uint32_t, std::uint64_t>> long_lengths;  // (position in the list, bytes), sorted

    std::size_t size() const { return lengths.size(); }
};

}  // namespace feedline
