#include "packers/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/progress_bar.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/presets.h"
#include "core/status_line.h"
#include "core/units.h"

namespace feedline {
namespace {

struct Arguments {
    GenerateOptions options;
    std::string workload;
    std::optional<double> scale;
    std::optional<SizeDistribution> distribution;  // as asked for; else the workload's, else the default
    std::optional<std::uint64_t> classes;
    bool no_progress = false;
    bool quiet = false;
};

void declare(CLI::App& app, Arguments& arguments) {
    GenerateOptions& options = arguments.options;
    app.add_option("DST", options.destination, "directory to write; must not exist, or be empty")->required();
    CLI::Option* samples =
        app.add_option("--samples", options.samples, "number of files")->type_name("N")->check(at_least_one());
    CLI::Option* size = add_size(app, "--sample-size", options.sample_size_bytes, "mean size of a file");
    CLI::Option* deviation =
        add_size(app, "--sample-stddev", options.sample_stddev_bytes, "standard deviation of the size");
    app.add_option("--distribution", arguments.distribution, "of the sizes (default the workload's, else lognormal)")
        ->transform(CLI::Transformer(std::map<std::string, SizeDistribution>{{"lognormal", SizeDistribution::lognormal},
                                                                             {"normal", SizeDistribution::normal}})
                        .description(""))
        ->type_name("lognormal|normal");
    app.add_option("--classes", arguments.classes,
                   fmt::format("number of class folders (default {}, or as many as files)", options.classes))
        ->type_name("N")
        ->check(at_least_one());
    app.add_option("--seed", options.seed, "the same seed gives the same bytes (default 0)")->type_name("N");
    app.add_option("--content", options.content, "random bytes, or JPEGs that decode (default random)")
        ->transform(
            CLI::Transformer(std::map<std::string, Content>{{"random", Content::random}, {"jpeg", Content::jpeg}})
                .description(""))
        ->type_name("random|jpeg");
    app.add_option("--threads", options.threads, "writing threads (default as many as cores)")
        ->type_name("N")
        ->check(at_least_one());
    CLI::Option* workload = app.add_option_function<std::string>(
                                   "--workload",
                                   [&arguments](const std::string& name) {
                                       // Ends parsing, prints, and exits with 0, whatever else is missing.
                                       if (name == "help" || name == "list") {
                                           throw CLI::CallForVersion(list_workload_datasets(), CLI::ExitCodes::Success);
                                       }
                                       arguments.workload = name;
                                   },
                                   "sizes and number of samples of a published workload; `help` lists them")
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

GenerateOptions chosen(const Arguments& arguments) {
    GenerateOptions options = arguments.options;
    if (!arguments.workload.empty()) {
        const GenerateOptions preset = generate_options_for(find_preset(arguments.workload), arguments.scale);
        options.workload = preset.workload;
        options.samples = preset.samples;
        options.sample_size_bytes = preset.sample_size_bytes;
        options.sample_stddev_bytes = preset.sample_stddev_bytes;
        options.distribution = preset.distribution;
    } else if (options.samples == 0) {
        throw Error(ErrorKind::usage, "how many files? Give --samples N, or --workload NAME");
    }
    if (arguments.distribution) options.distribution = *arguments.distribution;
    // More classes than files is a mistake only where it was asked for.
    options.classes = arguments.classes.value_or(std::min(options.classes, options.samples));
    return options;
}

Ending run(const Arguments& arguments, const Interrupt& interrupt) {
    const GenerateOptions options = chosen(arguments);
    const bool live = !arguments.quiet && !arguments.no_progress && StatusLine::possible(stderr);
    const Nanoseconds start = now_ns();
    StatusLine line(stderr);
    std::function<void(const GenerateProgress&)> progress;
    if (live) {
        progress = [&](const GenerateProgress& now) {
            line.show(progress_bar(now.files, options.samples, "file", now.bytes, now_ns() - start));
        };
    }
    const GenerateResult result = generate(options, progress, interrupt);
    line.clear();
    if (!arguments.quiet) {
        tell(stdout, fmt::format("{}: {} in {}, {} in {}\n", printable(options.destination),
                                 format_counted(result.files, "file"), format_counted(result.classes, "class"),
                                 format_size(static_cast<double>(result.bytes)), format_time(now_ns() - start)));
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
