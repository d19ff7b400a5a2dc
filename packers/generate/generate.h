// Writes a dataset of small files: DST/CLASS/FILE and nothing else.
//
// The same options give the same bytes, whatever the thread count: the content and size of file i depend on (seed, i)
// alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/interrupt.h"

namespace feedline {

enum class SizeDistribution { lognormal, normal };
enum class Content { random, jpeg };

struct GenerateOptions {
    std::string destination;
    std::uint64_t samples = 0;
    std::uint64_t sample_size_bytes = 114'660;  // mean
    std::uint64_t sample_stddev_bytes = 0;
    SizeDistribution distribution = SizeDistribution::lognormal;
    std::uint64_t classes = 1000;
    std::uint64_t seed = 0;
    Content content = Content::random;
    unsigned threads = 0;  // 0: as many as cores
};

struct GenerateProgress {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

struct GenerateResult {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t classes = 0;
};

// Throws Error{usage} when the destination exists and is not empty, or the options contradict; {out_of_space, io} on
// failure; {interrupted}. On any failure what was written is removed again. `progress` may be empty; called now and
// then from any thread.
GenerateResult generate(const GenerateOptions& options, const std::function<void(const GenerateProgress&)>& progress,
                        const Interrupt& interrupt);

}  // namespace feedline
