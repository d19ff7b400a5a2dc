#include "packers/generate/random_stream.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace feedline {
namespace {

static_assert(std::endian::native == std::endian::little, "the bytes of a dataset are defined as little-endian words");

constexpr std::size_t kLanes = RandomStream::kLanes;
constexpr std::size_t kBlockBytes = RandomStream::kBlockBytes;

// Always inlined into the functions below, so that each compiles it for its own instruction set.
[[gnu::always_inline]] inline void generate_blocks(std::uint64_t (&state)[4][kLanes], std::byte* out,
                                                   std::size_t blocks) {
    alignas(64) std::uint64_t s[4][kLanes];
    std::memcpy(s, state, sizeof s);
    for (std::size_t block = 0; block < blocks; ++block) {
        alignas(64) std::uint64_t result[kLanes];
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const std::uint64_t sum = s[0][lane] + s[3][lane];
            result[lane] = ((sum << 23U) | (sum >> 41U)) + s[0][lane];
            const std::uint64_t shifted = s[1][lane] << 17U;
            s[2][lane] ^= s[0][lane];
            s[3][lane] ^= s[1][lane];
            s[1][lane] ^= s[2][lane];
            s[0][lane] ^= s[3][lane];
            s[2][lane] ^= shifted;
            s[3][lane] = (s[3][lane] << 45U) | (s[3][lane] >> 19U);
        }
        std::memcpy(out + block * kBlockBytes, result, kBlockBytes);
    }
    std::memcpy(state, s, sizeof s);
}

void blocks_baseline(std::uint64_t (&state)[4][kLanes], std::byte* out, std::size_t blocks) {
    generate_blocks(state, out, blocks);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void blocks_avx2(std::uint64_t (&state)[4][kLanes], std::byte* out, std::size_t blocks) {
    generate_blocks(state, out, blocks);
}
#endif

using BlocksFunction = void (*)(std::uint64_t (&)[4][kLanes], std::byte*, std::size_t);

BlocksFunction best_for_this_cpu() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return blocks_avx2;
#endif
    return blocks_baseline;
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t sample, Purpose purpose) {
    SplitMix random(seed, sample, purpose);
    for (auto& word : state_) {
        for (std::uint64_t& lane : word) lane = random.next();
    }
}

void RandomStream::fill(std::span<std::byte> out) {
    static const BlocksFunction generate = best_for_this_cpu();
    const std::size_t blocks = out.size() / kBlockBytes;
    generate(state_, out.data(), blocks);
    const std::size_t rest = out.size() - blocks * kBlockBytes;
    if (rest > 0) {
        std::byte last[kBlockBytes];
        generate(state_, last, 1);
        std::copy_n(last, rest, out.data() + blocks * kBlockBytes);
    }
}

}  // namespace feedline
