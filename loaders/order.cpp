#include "loaders/order.h"

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

std::uint64_t round_function(std::uint64_t half, std::uint64_t key) {
    std::uint64_t x = (half + key) * 0x9E3779B97F4A7C15ULL;
    x ^= x >> 32U;
    x *= 0xD6E8FEB86659FD93ULL;
    return x >> 32U;
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size) {
    // An even number of bits covering [0, size): at most four times size, so cycle walking takes under four tries on
    // average.
    const unsigned bits = size <= 2 ? 1 : static_cast<unsigned>(std::bit_width(size - 1));
    half_bits_ = (bits + 1) / 2;
    half_mask_ = (std::uint64_t{1} << half_bits_) - 1;
    for (std::uint64_t& round_key : round_keys_) round_key = split_mix(key);
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & half_mask_;
    for (const std::uint64_t round_key : round_keys_) {
        const std::uint64_t next = left ^ (round_function(right, round_key) & half_mask_);
        left = right;
        right = next;
    }
    return (left << half_bits_) | right;
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
    std::uint64_t value = encrypt(position);
    while (value >= size_) value = encrypt(value);
    return value;
}

void Permutation::fill(std::uint64_t first, std::span<std::uint64_t> out) const {
    for (std::uint64_t& value : out) value = (*this)(first++);
}

Order::Order(std::uint64_t samples, const OrderOptions& options)
    : total_(samples),
      options_(options),
      permutation_(samples, options.seed * 0x9E3779B97F4A7C15ULL + options.epoch),
      batches_(0),
      rank_samples_(0) {
    if (samples == 0) throw Error(ErrorKind::usage, "the dataset has no samples");
    if (options.batch_size == 0) throw Error(ErrorKind::usage, "the batch size must be at least 1");
    if (options.world == 0 || options.rank >= options.world) {
        throw Error(ErrorKind::usage, "the rank must be below the world size, and the world size at least 1");
    }
    const std::uint64_t step = options.batch_size * options.world;
    batches_ = (samples + step - 1) / step;
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
