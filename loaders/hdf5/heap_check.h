// Whether references to elements of variable length lead to what they say. libhdf5 believes them: where the object that
// a reference leads to is longer than the reference says, it writes past its own buffer.
//
// Thread-safety: none; needs no LibraryLock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "loaders/hdf5/file.h"
#include "loaders/shards/window.h"

namespace feedline::hdf5 {

class HeapCheck {
public:
    // Throws Error{io}.
    explicit HeapCheck(const File& file);

    // Of the reference at `offset_bytes` to elements of `element_bytes` each; empty: nothing is wrong, or it cannot be
    // told, as the file's numbers are not of 8 bytes. Throws Error{io, changed}.
    std::string problem(std::uint64_t offset_bytes, std::uint64_t element_bytes);

private:
    struct Collection {
        std::uint64_t begin_bytes = 0;
        std::string problem = {};                                            // empty: it is sound
        std::unordered_map<std::uint32_t, std::uint64_t> object_bytes = {};  // by number
    };

    Collection walk(std::uint64_t begin_bytes);

    std::uint64_t base_bytes_;
    bool known_;
    FileWindow bytes_;
    std::optional<Collection> last_;  // references that follow each other lead to one
};

}  // namespace feedline::hdf5
