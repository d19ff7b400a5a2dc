#include "packers/generate/generate.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "core/units.h"
#include "packers/generate/content.h"
#include "packers/generate/layout.h"
#include "packers/generate/sizes.h"
#include "packers/generate/space.h"
#include "packers/generate/writer.h"
#include "packers/output/staging_directory.h"

namespace feedline {
namespace {

// The sizes of a workload are given, so advice to change them would be no help.
void check_sizes_of_workload(const GenerateOptions& options) {
    const SizeRange range = size_range(options.content);
    const bool fits =
        options.sample_size_bytes >= range.smallest_bytes && options.sample_size_bytes <= range.largest_bytes;
    if (options.workload.empty() || fits) return;
    throw Error(ErrorKind::usage,
                fmt::format("the samples of {} are {} on average, and JPEGs are written of {} to {}", options.workload,
                            format_size(static_cast<double>(options.sample_size_bytes)),
                            format_size(static_cast<double>(range.smallest_bytes)),
                            format_size(static_cast<double>(range.largest_bytes))))
        .advise("use --content random, or --samples and --sample-size in place of --workload");
}

}  // namespace

GenerateResult generate(const GenerateOptions& options, const std::function<void(const GenerateProgress&)>& progress,
                        const Interrupt& interrupt) {
    // Everything that can be refused is refused before anything is touched.
    make_content(options.content, options.seed);
    check_sizes_of_workload(options);
    const DatasetLayout layout(options.samples, options.classes, file_suffix(options.content));
    const SizeModel sizes(options.distribution, options.sample_size_bytes, options.sample_stddev_bytes, options.seed,
                          size_range(options.content));
    StagingDirectory staging(options.destination);
    require_space(staging.path(), layout, sizes, interrupt);
    DatasetWriter writer(options, layout, sizes, staging.directory_fd(), staging.path(), interrupt);
    const GenerateResult result = writer.run(progress);
    staging.publish();
    return result;
}

}  // namespace feedline
