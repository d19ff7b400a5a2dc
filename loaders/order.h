// The order of samples: a pure function of (samples, batch size, seed, epoch, rank, world). No list is kept, so it
// costs no memory and resumes anywhere in O(1).
//
// Shuffling is a keyed permutation of [0, n): a Feistel network over just enough bits, with cycle walking (Black and
// Rogaway, "Ciphers with arbitrary finite domains", 2002). Every rank evaluates the same permutation and takes its own
// positions from it.
//
// Ranks get equal counts of batches: global step g holds positions [g*batch*world, (g+1)*batch*world), split among the
// ranks as evenly as they go, so only the last step can be short, or empty for some ranks. Nothing is dropped, padded
// or repeated.
//
// Thread-safety: immutable after construction.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "loaders/dataset.h"

namespace feedline {

// A bijection of [0, size), evaluated point by point. `size` is at least 1. Good for shuffling: not
// distinguishable from uniform by the frequencies of positions and of neighbours; not meant to withstand an adversary.
class Permutation {
public:
    Permutation(std::uint64_t size, std::uint64_t key);
    std::uint64_t operator()(std::uint64_t position) const;
    // out[k] = (*this)(first + k). Faster than point by point.
    void fill(std::uint64_t first, std::span<std::uint64_t> out) const;
    std::uint64_t size() const { return size_; }

private:
    // A round changes one half by a hash of the other. Few rounds mix large halves well; halves of a bit or two need
    // many (measured: below that, some orders of 3 to 60 samples are visibly more frequent than others).
    static constexpr unsigned kLargeBits = 10;
    static constexpr unsigned kRoundsLarge = 6;
    static constexpr unsigned kRoundsSmall = 24;
    std::uint64_t encrypt(std::uint64_t value) const;

    std::uint64_t size_;
    unsigned right_bits_ = 0;  // the left half has as many, or one less
    unsigned rounds_ = 0;
    std::uint64_t left_mask_ = 0;
    std::uint64_t right_mask_ = 0;
    std::array<std::uint64_t, kRoundsSmall> round_keys_{};
};

enum class OrderMode { shuffle, sequential };

struct OrderOptions {
    OrderMode mode = OrderMode::shuffle;
    std::uint64_t seed = 0;
    std::uint64_t epoch = 0;
    std::uint64_t batch_size = 1;  // samples a batch and rank
    std::uint32_t rank = 0;
    std::uint32_t world = 1;
};

class Order {
public:
    // Throws Error{usage} if samples or batch_size is 0, rank >= world, or batch_size * world is no 64-bit number.
    Order(std::uint64_t samples, const OrderOptions& options);

    std::uint64_t batches() const { return batches_; }       // the same for every rank
    std::uint64_t batch_samples(std::uint64_t batch) const;  // 0 .. batch_size
    std::uint64_t samples() const { return rank_samples_; }  // of this rank over the epoch
    // ids.size() must be batch_samples(batch).
    void batch(std::uint64_t batch, std::span<SampleId> ids) const;

private:
    struct Slice {
        std::uint64_t first;
        std::uint64_t count;
    };
    Slice slice(std::uint64_t batch) const;

    std::uint64_t total_;
    OrderOptions options_;
    Permutation permutation_;
    std::uint64_t batches_;
    std::uint64_t rank_samples_;
};

}  // namespace feedline
