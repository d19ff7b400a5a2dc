#include "packers/generate/generate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/presets.h"
#include "core/units.h"

namespace feedline {
namespace {

struct Arguments {
    GenerateOptions options;
    std::string workload;
    std::optional<double> scale;
    bool no_progress = false;
    bool quiet = false;
};

// A size with its unit.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes, const std::string& help) {
    return app
        .add_option_function<std::string>(
            name, [&bytes](const std::string& text) { bytes = parse_size(text); },
            fmt::format("{} (default {})", help, bytes))
        ->type_name("SIZE");
}

void declare(CLI::App& app, Arguments& arguments) {
    GenerateOptions& options = arguments.options;
    app.add_option("DST", options.destination, "directory to write; must not exist, or be empty")->required();
    CLI::Option* samples =
        app.add_option("--samples", options.samples, "number of files")->type_name("N")->check(CLI::PositiveNumber);
    CLI::Option* size = add_size(app, "--sample-size", options.sample_size_bytes, "mean size of a file");
    CLI::Option* deviation =
        add_size(app, "--sample-stddev", options.sample_stddev_bytes, "standard deviation of the size");
    app.add_option("--distribution", options.distribution, "of the sizes (default lognormal)")
        ->transform(CLI::Transformer(std::map<std::string, SizeDistribution>{{"lognormal", SizeDistribution::lognormal},
                                                                             {"normal", SizeDistribution::normal}})
                        .description(""))
        ->type_name("lognormal|normal");
    app.add_option("--classes", options.classes, fmt::format("number of class folders (default {})", options.classes))
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    app.add_option("--seed", options.seed, "the same seed gives the same bytes (default 0)")->type_name("N");
    app.add_option("--content", options.content, "random bytes, or JPEGs that decode (default random)")
        ->transform(
            CLI::Transformer(std::map<std::string, Content>{{"random", Content::random}, {"jpeg", Content::jpeg}})
                .description(""))
        ->type_name("random|jpeg");
    app.add_option("--threads", options.threads, "writing threads (default as many as cores)")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    CLI::Option* workload =
        app.add_option("--workload", arguments.workload, "sizes and number of samples of a published workload")
            ->type_name("NAME")
            ->excludes(samples)
            ->excludes(size)
            ->excludes(deviation);
    app.add_option("--scale", arguments.scale, "with --workload: times as many samples (default 1)")
        ->type_name("F")
        ->needs(workload);
    app.add_flag("--no-progress", arguments.no_progress, "no progress bar on the terminal (default off)");
    app.add_flag("--quiet", arguments.quiet, "print nothing but errors (default off)");
    app.footer(
        "Sizes take KiB MiB GiB (1024) and KB MB GB (1000).\n"
        "Example: feedline generate /data/train --workload resnet50-h100 --scale 0.01");
}

// "[##########          ]  25,000 of 50,000 files  2.87 GB  412 MB/s  12 s left"
void show(const GenerateProgress& progress, std::uint64_t files, Nanoseconds elapsed_ns) {
    constexpr int kBarColumns = 30;
    const double done = files > 0 ? static_cast<double>(progress.files) / static_cast<double>(files) : 0;
    const double seconds = to_seconds(elapsed_ns);
    const std::string bar(static_cast<std::size_t>(std::lround(done * kBarColumns)), '#');
    std::string line =
        fmt::format("[{:<{}}]  {} of {} files  {}", bar, kBarColumns, format_count(static_cast<double>(progress.files)),
                    format_count(static_cast<double>(files)), format_size(static_cast<double>(progress.bytes)));
    if (seconds > 0) line += "  " + format_rate(static_cast<double>(progress.bytes) / seconds);
    if (done > 0)
        line += "  " + format_time(std::llround(static_cast<double>(elapsed_ns) * (1 - done) / done)) + " left";
    fmt::print(stderr, "\r\x1b[K{}", line);
    std::fflush(stderr);
}

GenerateOptions chosen(const Arguments& arguments) {
    GenerateOptions options = arguments.options;
    if (arguments.workload.empty()) {
        if (options.samples == 0) {
            throw Error(ErrorKind::usage, "how many files? Give --samples N, or --workload NAME");
        }
        return options;
    }
    const GenerateOptions preset = generate_options_for(find_preset(arguments.workload), arguments.scale);
    options.samples = preset.samples;
    options.sample_size_bytes = preset.sample_size_bytes;
    options.sample_stddev_bytes = preset.sample_stddev_bytes;
    return options;
}

Ending run(const Arguments& arguments, const Interrupt& interrupt) {
    GenerateOptions options = chosen(arguments);
    options.classes = std::min(options.classes, options.samples);
    const bool live = !arguments.quiet && !arguments.no_progress && ::isatty(STDERR_FILENO) == 1;
    const Nanoseconds start = now_ns();
    GenerateResult result;
    const auto end_line = [&] {
        if (live) fmt::print(stderr, "\r\x1b[K");
    };
    try {
        result =
            generate(options,
                     live ? [&](const GenerateProgress& progress) { show(progress, options.samples, now_ns() - start); }
                          : std::function<void(const GenerateProgress&)>(),
                     interrupt);
    } catch (...) {
        end_line();
        throw;
    }
    end_line();
    if (!arguments.quiet) {
        fmt::print("{}: {} files in {} classes, {} in {}\n", printable(options.destination),
                   format_count(static_cast<double>(result.files)), format_count(static_cast<double>(result.classes)),
                   format_size(static_cast<double>(result.bytes)), format_time(now_ns() - start));
    }
    return {};
}

}  // namespace

Command add_generate(CLI::App& app) {
    const auto arguments = std::make_shared<Arguments>();
    declare(app, *arguments);
    return [arguments](const std::string& /*typed*/, const Interrupt& interrupt) { return run(*arguments, interrupt); };
}

}  // namespace feedline
