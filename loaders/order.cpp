#include "loaders/order.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace feedline {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): spreads a key into round keys.
std::uint64_t split_mix(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
}

// Mixed twice, so that neighbouring seeds and epochs do not share round keys, which would make their orders resemble
// each other.
std::uint64_t key_of(std::uint64_t seed, std::uint64_t epoch) {
    std::uint64_t state = seed;
    state = split_mix(state) ^ epoch;
    return split_mix(state);
}

std::uint64_t round_function(std::uint64_t half, std::uint64_t key) {
    std::uint64_t x = (half + key) * 0x9E3779B97F4A7C15ULL;
    x ^= x >> 32U;
    x *= 0xD6E8FEB86659FD93ULL;
    return x >> 32U;
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size) {
    // The domain is below twice the size, so a value is inside after fewer than two tries on average.
    const auto bits = size <= 2 ? 1U : static_cast<unsigned>(std::bit_width(size - 1));
    const unsigned left_bits = bits / 2;
    right_bits_ = bits - left_bits;
    left_mask_ = (std::uint64_t{1} << left_bits) - 1;
    right_mask_ = (std::uint64_t{1} << right_bits_) - 1;
    rounds_ = bits >= kLargeBits ? kRoundsLarge : kRoundsSmall;
    for (std::uint64_t& round_key : round_keys_) round_key = split_mix(key);
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
    std::uint64_t left = value >> right_bits_;
    std::uint64_t right = value & right_mask_;
    for (unsigned round = 0; round < rounds_; round += 2) {
        left ^= round_function(right, round_keys_[round]) & left_mask_;
        right ^= round_function(left, round_keys_[round + 1]) & right_mask_;
    }
    return (left << right_bits_) | right;
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
    std::uint64_t value = encrypt(position);
    while (value >= size_) value = encrypt(value);
    return value;
}

void Permutation::fill(std::uint64_t first, std::span<std::uint64_t> out) const {
    // Walking each value to its end would mispredict a branch for every second one. Instead all take a step, and those
    // still outside are listed without a branch for the next.
    constexpr std::size_t kBlock = 256;
    std::array<std::uint32_t, kBlock> outside;
    for (; !out.empty(); out = out.subspan(std::min(kBlock, out.size()))) {
        const auto count = static_cast<std::uint32_t>(std::min(kBlock, out.size()));
        std::size_t pending = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint64_t value = encrypt(first + i);
            out[i] = value;
            outside[pending] = i;
            pending += value >= size_ ? 1U : 0U;
        }
        first += count;
        while (pending != 0) {
            std::size_t still = 0;
            for (std::size_t j = 0; j < pending; ++j) {
                const std::uint32_t i = outside[j];
                const std::uint64_t value = encrypt(out[i]);
                out[i] = value;
                outside[still] = i;
                still += value >= size_ ? 1U : 0U;
            }
            pending = still;
        }
    }
}

Order::Order(std::uint64_t samples, const OrderOptions& options)
    : total_(samples),
      options_(options),
      permutation_(samples, key_of(options.seed, options.epoch)),
      batches_(0),
      rank_samples_(0) {
    if (samples == 0) throw Error(ErrorKind::usage, "the dataset has no samples");
    if (options.batch_size == 0) throw Error(ErrorKind::usage, "the batch size must be at least 1");
    if (options.world == 0 || options.rank >= options.world) {
        throw Error(ErrorKind::usage, "the rank must be below the world size, and the world size at least 1");
    }
    if (options.batch_size > UINT64_MAX / options.world) {
        throw Error(ErrorKind::usage, "the batch size times the world size does not fit 64 bits");
    }
    const std::uint64_t step = options.batch_size * options.world;
    batches_ = samples / step + (samples % step != 0 ? 1 : 0);
    rank_samples_ = (batches_ - 1) * options.batch_size + slice(batches_ - 1).count;
}

Order::Slice Order::slice(std::uint64_t batch) const {
    const std::uint64_t step = options_.batch_size * options_.world;
    const std::uint64_t first = batch * step;
    const std::uint64_t left = total_ - first;
    if (left >= step) return {first + options_.rank * options_.batch_size, options_.batch_size};
    // The last step: as even as it goes, the first `extra` ranks one more.
    const std::uint64_t share = left / options_.world;
    const std::uint64_t extra = left % options_.world;
    const std::uint64_t before = options_.rank * share + (options_.rank < extra ? options_.rank : extra);
    return {first + before, share + (options_.rank < extra ? 1U : 0U)};
}

std::uint64_t Order::batch_samples(std::uint64_t batch) const {
    return slice(batch).count;
}

void Order::batch(std::uint64_t batch, std::span<SampleId> ids) const {
    const Slice s = slice(batch);
    if (options_.mode == OrderMode::sequential) {
        for (std::uint64_t i = 0; i < ids.size(); ++i) ids[i] = s.first + i;
    } else {
        permutation_.fill(s.first, ids);
    }
}

}  // namespace feedline
