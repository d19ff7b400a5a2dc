// Incompressible bytes at the speed of memory: eight xoshiro256++ generators side by side (Blackman and Vigna, 2021),
// so that the compiler keeps them in vector registers.
//
// The bytes are a function of the key alone, the same on every machine and with every vector width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packers/generate/mix.h"

namespace feedline {

// Not thread-safe; one a thread.
class RandomStream {
public:
    RandomStream(std::uint64_t seed, std::uint64_t sample, Purpose purpose);

    // The next bytes of the stream. What a call leaves of its last block of kBlockBytes is dropped.
    void fill(std::span<std::byte> out);

    static constexpr std::size_t kLanes = 8;
    static constexpr std::size_t kBlockBytes = kLanes * sizeof(std::uint64_t);

private:
    alignas(64) std::uint64_t state_[4][kLanes];
};

}  // namespace feedline
