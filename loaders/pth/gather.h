// Reads tensors, whose elements may lie in any order, as bytes in row-major order.
//
// Not thread-safe: belongs to one thread, and keeps up to 64 MiB of the file that was read last.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loaders/pth/tensor.h"

namespace feedline::pth {

class Gather {
public:
    // Writes the bytes of `tensor`, or of its `row` (its first dimension at that index), to `destination`, which must
    // hold them. Returns 0 or -errno; -ENODATA: the file ends before.
    int read(int fd, const Tensor& tensor, std::optional<std::uint64_t> row, std::span<std::byte> destination);
    // Another file may be read next: what is kept of this one is not of that.
    void forget() { held_bytes_ = 0; }

private:
    int hold(int fd, std::uint64_t begin, std::uint64_t end);
    int copy_run(int fd, std::uint64_t offset, std::span<std::byte> destination) const;

    std::vector<std::byte> held_;
    std::uint64_t held_begin_ = 0;
    std::uint64_t held_bytes_ = 0;
};

// `length` bytes from `offset` on; 0 or -errno, -ENODATA where the file ends before.
int read_fully(int fd, std::uint64_t offset, std::span<std::byte> destination);

}  // namespace feedline::pth
