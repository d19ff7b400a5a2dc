#include "loaders/ring.h"

#include <algorithm>

namespace feedline {
namespace {

// Sizes tried between the bounds. What the ring leaves unused depends on where batches happen to end, so a smaller size
// may do where a larger one does not, and there is no more to gain than the longest batch.
constexpr std::uint64_t kTries = 16;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

struct Bounds {
    std::uint64_t lower = 0;
    std::uint64_t upper = 0;
};

Bounds bounds_of(std::span<const std::uint64_t> lengths, unsigned slots, std::uint64_t alignment_bytes) {
    Bounds bounds;
    std::uint64_t sum = 0;
    std::vector<std::uint64_t> longest;  // of the window, decreasing: front() is its maximum
    std::size_t head = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const std::uint64_t length = round_up(lengths[i], alignment_bytes);
        sum += length;
        while (longest.size() > head && longest.back() < length) longest.pop_back();
        longest.push_back(length);
        if (i >= slots) {
            const std::uint64_t leaving = round_up(lengths[i - slots], alignment_bytes);
            sum -= leaving;
            if (longest[head] == leaving) ++head;
        }
        bounds.lower = std::max(bounds.lower, sum);
        bounds.upper = std::max(bounds.upper, sum + longest[head]);
    }
    return bounds;
}

bool fits(std::span<const std::uint64_t> lengths, unsigned slots, Ring ring) {
    struct Placed {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    std::vector<Placed> live(slots);  // batch i in i % slots
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i] > ring.bytes()) return false;
        const std::uint64_t begin = ring.place(lengths[i]);
        const Placed placed{begin, begin + lengths[i]};
        live[i % slots] = {};
        for (const Placed& other : live) {
            if (placed.begin < other.end && other.begin < placed.end) return false;
        }
        live[i % slots] = placed;
    }
    return true;
}

}  // namespace

std::uint64_t Ring::place(std::uint64_t length_bytes) {
    std::uint64_t begin = round_up(cursor_bytes_, alignment_bytes_);
    if (begin + length_bytes > bytes_) begin = 0;
    cursor_bytes_ = begin + length_bytes;
    return begin;
}

std::uint64_t ring_bytes(std::span<const std::vector<std::uint64_t>> epochs, unsigned slots,
                         std::uint64_t alignment_bytes) {
    Bounds bounds;
    for (const std::vector<std::uint64_t>& lengths : epochs) {
        const Bounds epoch = bounds_of(lengths, slots, alignment_bytes);
        bounds.lower = std::max(bounds.lower, epoch.lower);
        bounds.upper = std::max(bounds.upper, epoch.upper);
    }
    for (std::uint64_t i = 0; i < kTries; ++i) {
        const std::uint64_t more = (bounds.upper - bounds.lower) / kTries * i;
        const std::uint64_t bytes = bounds.lower + round_up(more, alignment_bytes);
        const Ring ring(bytes, alignment_bytes);
        if (std::all_of(epochs.begin(), epochs.end(),
                        [&](const auto& lengths) { return fits(lengths, slots, ring); })) {
            return bytes;
        }
    }
    return bounds.upper;
}

}  // namespace feedline
