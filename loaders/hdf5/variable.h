// What the library reads into memory for elements of variable length, with a bound on it.
//
// Not thread-safe; used with LibraryLock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "loaders/hdf5/library.h"

namespace feedline::hdf5 {

// Hands out memory to the library and takes it back as a whole. A request beyond the bound fails, and with it the read.
class VariableMemory {
public:
    VariableMemory();
    // Not movable: the library keeps its address.
    VariableMemory(const VariableMemory&) = delete;
    VariableMemory& operator=(const VariableMemory&) = delete;

    // Gives back what was handed out, and allows `limit_bytes` from here on.
    void begin(std::uint64_t limit_bytes);
    // For H5Dread.
    hid_t transfer() const { return transfer_.get(); }
    // How large a piece is that was handed out; 0 for a null pointer.
    std::size_t size_of(const void* piece) const;
    bool refused() const { return refused_; }

private:
    static void* allocate(std::size_t bytes, void* self);
    static void release(void* piece, void* self);

    Id transfer_;
    std::unordered_map<const void*, std::size_t> sizes_;
    std::deque<std::unique_ptr<std::byte[]>> pieces_;
    std::uint64_t left_bytes_ = 0;
    bool refused_ = false;
};

}  // namespace feedline::hdf5
