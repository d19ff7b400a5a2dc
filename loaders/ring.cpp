#include "loaders/ring.h"

#include <algorithm>

namespace feedline {
namespace {

// With at most this share of the slots taken, the loader counts as the slower side.
constexpr unsigned kFewLiveShare = 4;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

bool is_free(const SlabSpan& wanted, std::span<const SlabSpan> live) {
    return std::none_of(live.begin(), live.end(),
                        [&](const SlabSpan& other) { return wanted.begin < other.end && other.begin < wanted.end; });
}

}  // namespace

std::optional<std::uint64_t> Ring::place(std::uint64_t length_bytes, std::span<const SlabSpan> live) {
    std::uint64_t begin = 0;
    const bool few = live.size() <= slots_ / kFewLiveShare;
    if (!few || !is_free({0, length_bytes}, live)) {
        begin = round_up(cursor_bytes_, alignment_bytes_);
        if (begin + length_bytes > bytes_) begin = 0;
        if (!is_free({begin, begin + length_bytes}, live)) return std::nullopt;
    }
    cursor_bytes_ = begin + length_bytes;
    return begin;
}

std::uint64_t ring_bytes(std::span<const std::vector<std::uint64_t>> epochs, unsigned slots,
                         std::uint64_t alignment_bytes) {
    std::uint64_t longest_window = 0;
    std::uint64_t longest = 0;
    for (const std::vector<std::uint64_t>& lengths : epochs) {
        std::uint64_t window = 0;
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            const std::uint64_t length = round_up(lengths[i], alignment_bytes);
            longest = std::max(longest, length);
            window += length;
            if (i >= slots) window -= round_up(lengths[i - slots], alignment_bytes);
            longest_window = std::max(longest_window, window);
        }
    }
    return longest_window + (slots > 1 ? longest : 0);
}

}  // namespace feedline
