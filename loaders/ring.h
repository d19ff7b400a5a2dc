// The slab as a ring of bytes: where a batch goes, and how large the ring must be.
//
// Plain arithmetic; no memory is touched. Thread-safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace feedline {

// Bytes [begin, end) of the slab.
struct SlabSpan {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

// A batch starts where the one before it ended, or at 0 where it would not fit before the end of the ring.
//
// It also starts at 0 as soon as it can while few batches are live: the loader is then the slower side, and memory that
// was filled a moment ago is still in the processor's cache, where a ring gone round to its end would be as cold as it
// is large. A ring of the size that ring_bytes() says always has room for `slots` batches but for that one return,
// whose few live batches are on their way out.
class Ring {
public:
    Ring(std::uint64_t bytes, std::uint64_t alignment_bytes, unsigned slots)
        : bytes_(bytes), alignment_bytes_(alignment_bytes), slots_(slots) {}

    // Where the next batch of `length` bytes goes; nullopt while a live one, of which there are fewer than slots, lies
    // there. `length` must not exceed bytes().
    std::optional<std::uint64_t> place(std::uint64_t length_bytes, std::span<const SlabSpan> live);
    std::uint64_t bytes() const { return bytes_; }

private:
    std::uint64_t bytes_;
    std::uint64_t alignment_bytes_;
    unsigned slots_;
    std::uint64_t cursor_bytes_ = 0;
};

// The ring size in which batches of these lengths find room `slots` at a time, wherever the ring stands. `epochs` holds
// the lengths in order. It is the longest window of `slots` batches and, since that is what the end of the ring can
// leave unused, the longest batch; of one slot the longest batch alone.
std::uint64_t ring_bytes(std::span<const std::vector<std::uint64_t>> epochs, unsigned slots,
                         std::uint64_t alignment_bytes);

}  // namespace feedline
