// The slab as a ring of bytes: where a batch goes, and how large the ring must be.
//
// Plain arithmetic; no memory is touched. Thread-safety: values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace feedline {

// Batch i starts where batch i-1 ended, or at 0 where it would not fit before the end.
class Ring {
public:
    Ring(std::uint64_t bytes, std::uint64_t alignment_bytes) : bytes_(bytes), alignment_bytes_(alignment_bytes) {}

    // Start of the next batch of `length` bytes. `length` must not exceed bytes().
    std::uint64_t place(std::uint64_t length_bytes);
    std::uint64_t bytes() const { return bytes_; }

private:
    std::uint64_t bytes_;
    std::uint64_t alignment_bytes_;
    std::uint64_t cursor_bytes_ = 0;
};

// A ring size in which no batch overlaps one of the `slots` - 1 before it. `epochs` holds the batches' lengths in
// order; every epoch starts with an empty ring. At least the longest window of `slots` batches, at most that and the
// longest batch of a window more, since that is all that the end of the ring can leave unused.
std::uint64_t ring_bytes(std::span<const std::vector<std::uint64_t>> epochs, unsigned slots,
                         std::uint64_t alignment_bytes);

}  // namespace feedline
