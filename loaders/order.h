// The order of samples: a pure function of (samples, batch size, seed, epoch, rank, world). No list is kept, so it
// costs no memory and resumes anywhere in O(1).
//
// Shuffling is a keyed permutation of [0, n): a balanced Feistel network over the next even number of bits with cycle
// walking (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). Every rank evaluates the same permutation
// and takes its own positions from it.
//
// Ranks get equal counts of batches: global step g holds positions [g*batch*world, (g+1)*batch*world), split among the
// ranks as evenly as they go, so only the last step can be short, or empty for some ranks. Nothing is dropped, padded
// or repeated.
//
// Thread-safety: immutable after construction.
#pragma once

#include <cstdint>
#include <span>

#include "loaders/dataset.h"

namespace feedline {

// A bijection of [0, size), evaluated point by point.
class Permutation {
public:
    Permutation(std::uint64_t size, std::uint64_t key);
    std::uint64_t operator()(std::uint64_t position) const;
    // out[k] = (*this)(first + k). Faster than point by point.
    void fill(std::uint64_t first, std::span<std::uint64_t> out) const;
    std::uint64_t size() const { return size_; }

private:
    static constexpr unsigned kRounds = 4;
    std::uint64_t encrypt(std::uint64_t value) const;

    std::uint64_t size_;
    unsigned half_bits_;
    std::uint64_t half_mask_;
    std::uint64_t round_keys_[kRounds];
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
    // Throws Error{usage} if samples or batch_size is 0, or rank >= world.
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
