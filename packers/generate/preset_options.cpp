#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/units.h"
#include "packers/generate/generate.h"

namespace feedline {
namespace {

constexpr std::uint64_t kMostFilesUnasked = 2'000'000;
constexpr std::uint64_t kMostClasses = 1000;
constexpr double kMostSamples = 0x1p53;  // beyond it a double does not hold every whole number

}  // namespace

std::string list_workload_datasets() {
    std::string text =
        fmt::format("{:<18}{:>16}{:>12}{:>14}{:>14}\n", "workload", "files", "mean size", "deviation", "in all");
    for (const Preset& preset : presets()) {
        const auto files = static_cast<double>(preset.samples());
        const auto bytes = static_cast<double>(preset.record_bytes);
        text += fmt::format("{:<18}{:>16}{:>12}{:>14}{:>14}\n", preset.name, format_count(files), format_size(bytes),
                            format_size(static_cast<double>(preset.record_stddev_bytes)), format_size(files * bytes));
    }
    return text +
           "One file a sample; --scale 0.01 makes a hundredth of them, of the same sizes. As in:\n"
           "feedline generate /data/train --workload resnet50-h100 --scale 0.01";
}

GenerateOptions generate_options_for(const Preset& preset, std::optional<double> scale) {
    const std::uint64_t published = preset.samples();
    if (!scale && published > kMostFilesUnasked) {
        throw Error(ErrorKind::usage, fmt::format("{} has {} samples, and each becomes a file", preset.name,
                                                  format_count(static_cast<double>(published))))
            .advise(fmt::format("Say how many with --scale: {:.2g} gives {} files",
                                static_cast<double>(kMostFilesUnasked) / static_cast<double>(published),
                                format_count(static_cast<double>(kMostFilesUnasked))));
    }
    const double samples = static_cast<double>(published) * scale.value_or(1);
    if (!(samples > 0) || samples > kMostSamples) {
        throw Error(ErrorKind::usage, fmt::format("a scale of {} makes no dataset", *scale))
            .advise("Give --scale a number above 0; 1 is the published number of samples");
    }
    GenerateOptions options;
    options.workload = preset.name;
    options.samples = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(samples)));
    options.sample_size_bytes = preset.record_bytes;
    options.sample_stddev_bytes = preset.record_stddev_bytes;
    options.distribution = SizeDistribution::normal;  // what the benchmarks that published these figures draw from
    options.classes = std::min(kMostClasses, options.samples);
    return options;
}

}  // namespace feedline
