// Whether references to elements of variable length lead to what they say. libhdf5 believes them: where the object that
// a reference leads to is longer than the reference says, it writes past its own buffer.
//
// Thread-safety: none; needs no LibraryLock.
#pragma once

#include <cstdint>
#include <string>

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
    std::uint64_t base_bytes_;
    bool known_;
    FileWindow bytes_;
};

}  // namespace feedline::hdf5
