#include "loaders/pth/gather.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace feedline::pth {
namespace {

constexpr std::uint64_t kHeldBytes = std::uint64_t{64} << 20U;

// Where the elements of a tensor, or of one of its rows, begin and end in the file.
struct Reach {
    std::uint64_t begin;
    std::uint64_t end;
};

Reach reach_of(const Tensor& tensor, std::size_t first, std::uint64_t begin) {
    std::uint64_t last = 0;
    for (std::size_t i = first; i < tensor.sizes.size(); ++i) last += (tensor.sizes[i] - 1) * tensor.strides[i];
    return {begin, begin + (last + 1) * tensor.type->bytes};
}

}  // namespace

int read_fully(int fd, std::uint64_t offset, std::span<std::byte> destination) {
    std::size_t done = 0;
    while (done < destination.size()) {
        const ssize_t got =
            pread(fd, destination.data() + done, destination.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -errno;
        if (got == 0) return -ENODATA;
        done += static_cast<std::size_t>(got);
    }
    return 0;
}

int Gather::hold(int fd, std::uint64_t begin, std::uint64_t end) {
    if (begin >= held_begin_ && end <= held_begin_ + held_bytes_) return 0;
    held_bytes_ = 0;
    held_.resize(end - begin);
    if (const int error = read_fully(fd, begin, held_); error != 0) return error;
    held_begin_ = begin;
    held_bytes_ = end - begin;
    return 0;
}

int Gather::copy_run(int fd, std::uint64_t offset, std::span<std::byte> destination) const {
    if (offset < held_begin_ || offset + destination.size() > held_begin_ + held_bytes_) {
        return read_fully(fd, offset, destination);
    }
    std::memcpy(destination.data(), held_.data() + (offset - held_begin_), destination.size());
    return 0;
}

int Gather::read(int fd, const Tensor& tensor, std::optional<std::uint64_t> row, std::span<std::byte> destination) {
    if (destination.empty()) return 0;
    const std::uint64_t item = tensor.type->bytes;
    const std::size_t first = row ? 1 : 0;
    const std::uint64_t begin = tensor.offset_bytes + (row ? *row * tensor.strides[0] * item : 0);
    if (tensor.row_major(first)) return read_fully(fd, begin, destination);

    // A row may be strewn over the whole tensor: then its neighbours are too, and are at hand.
    const Reach all = reach_of(tensor, 0, tensor.offset_bytes);
    const Reach part = reach_of(tensor, first, begin);
    const Reach& wanted = all.end - all.begin <= kHeldBytes ? all : part;
    if (wanted.end - wanted.begin <= kHeldBytes) {
        if (const int error = hold(fd, wanted.begin, wanted.end); error != 0) return error;
    }

    // The innermost dimensions that lie in order are copied at once, those outside counted through.
    std::size_t inner = tensor.sizes.size();
    while (inner > first && tensor.row_major(inner - 1)) --inner;
    std::uint64_t run_bytes = item;
    for (std::size_t i = inner; i < tensor.sizes.size(); ++i) run_bytes *= tensor.sizes[i];
    std::vector<std::uint64_t> position(inner, 0);
    std::uint64_t offset = begin;
    for (std::size_t done = 0; done < destination.size(); done += run_bytes) {
        if (const int error = copy_run(fd, offset, destination.subspan(done, run_bytes)); error != 0) return error;
        for (std::size_t i = inner; i-- > first;) {
            offset += tensor.strides[i] * item;
            if (++position[i] < tensor.sizes[i]) break;
            offset -= tensor.sizes[i] * tensor.strides[i] * item;
            position[i] = 0;
        }
    }
    return 0;
}

}  // namespace feedline::pth
