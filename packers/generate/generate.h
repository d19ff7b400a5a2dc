// Writes a dataset of small files: DST/CLASS/FILE and nothing else.
//
// The same options give the same bytes, whatever the thread count: the content and size of file i depend on (seed, i)
// alone. JPEG files are the same for the same version of libjpeg-turbo.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/interrupt.h"
#include "core/presets.h"

namespace feedline {

enum class SizeDistribution { lognormal, normal };
enum class Content { random, jpeg };

struct GenerateOptions {
    std::string destination;
    std::string workload;  // that samples and sizes come from; empty: they are the user's own
    std::uint64_t samples = 0;
    std::uint64_t sample_size_bytes = 114'660;  // mean
    std::uint64_t sample_stddev_bytes = 0;
    SizeDistribution distribution = SizeDistribution::lognormal;
    std::uint64_t classes = 1000;
    std::uint64_t seed = 0;
    Content content = Content::random;
    unsigned threads = 0;  // 0: as many as cores
};

// Options for the dataset of a published workload. `scale` multiplies the number of samples, never their sizes, and
// rounds to the nearest whole number, at least 1; none means the published number. One sample becomes one file, however
// many the workload keeps in one. Classes: 1000, or as many as samples where there are fewer.
// Throws Error{usage} for a scale that is not positive, and for more than 2,000,000 files when no scale was given:
// nobody writes 4.8 billion files by accident.
GenerateOptions generate_options_for(const Preset& preset, std::optional<double> scale);

// The published workloads, and what each makes: lines of text, the last without a newline.
std::string list_workload_datasets();

struct GenerateProgress {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

struct GenerateResult {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t classes = 0;
};

// Writes the dataset and flushes it to the disk; only then does it appear at the destination.
//
// The destination must not exist, or be an empty directory that is no mount point; its parent must exist. Until all is
// on disk everything lies in DESTINATION.incomplete, which is removed on any failure; what a killed run left there is
// removed by the next one.
// Throws Error{usage} for options that contradict and for a destination in use; {unsupported} for JPEG in a build
// without it; {out_of_space} before anything is written when it cannot fit, or when the filesystem fills up meanwhile;
// {io}; {interrupted} within about 100 ms and the time that removing takes.
// `progress` may be empty; it is called about ten times a second from the calling thread, and once at the end.
GenerateResult generate(const GenerateOptions& options, const std::function<void(const GenerateProgress&)>& progress,
                        const Interrupt& interrupt);

}  // namespace feedline
