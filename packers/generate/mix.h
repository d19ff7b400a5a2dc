// Where the randomness of sample i comes from: a pure function of (seed, i, purpose), so that neither the number of
// threads nor the order of writing can change a byte.
#pragma once

#include <cstdint>

namespace feedline {

// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): a bijection
// of 64 bits in which each input bit flips every output bit with probability near one half.
constexpr std::uint64_t mix64(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31U);
}

// What the numbers are for: streams for different purposes are unrelated.
enum class Purpose : std::uint64_t { size = 1, content = 2, picture = 3, padding = 4 };

// A short stream of 64-bit numbers. Not thread-safe.
class SplitMix {
public:
    SplitMix(std::uint64_t seed, std::uint64_t sample, Purpose purpose)
        : state_(mix64(mix64(seed + static_cast<std::uint64_t>(purpose) * kStep) + sample)) {}

    std::uint64_t next() {
        state_ += kStep;
        return mix64(state_);
    }
    // In [0, 1): a multiple of 2^-53.
    double next_unit() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

private:
    static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;  // 2^64 / golden ratio, odd
    std::uint64_t state_;
};

}  // namespace feedline
