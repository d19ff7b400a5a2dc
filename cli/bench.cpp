#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "bench/check.h"
#include "bench/context.h"
#include "bench/options.h"
#include "bench/report/csv.h"
#include "bench/report/progress.h"
#include "bench/report/table.h"
#include "bench/require.h"
#include "bench/run.h"
#include "cli/command.h"

namespace feedline {
namespace {

void declare(CLI::App& app, BenchOptions& options) {
    app.add_option_function<std::vector<std::string>>(
           "DATASET",
           [&options](const std::vector<std::string>& arguments) {
               for (const std::string& text : arguments) options.datasets.push_back(parse_dataset_argument(text));
           },
           "a path, or NAME=PATH where NAME labels the tier; one or more")
        ->required();
    for (const OptionBinding& binding : bind_options(options)) {
        const std::string name(binding.info.name);
        CLI::Option* option = nullptr;
        if (binding.is_switch) {
            const std::string names = binding.negatable ? fmt::format("--{0},!--no-{0}", name) : "--" + name;
            option = app.add_flag_function(
                names, [set = binding.set](std::int64_t count) { set(count > 0 ? "true" : "false"); }, binding.help);
        } else {
            option = app.add_option(
                "--" + name,
                [set = binding.set](const CLI::results_t& values) {
                    for (const std::string& value : values) set(value);
                    return true;
                },
                binding.help);
            option->expected(1)->type_name(std::string(binding.info.value));
            if (binding.info.repeatable) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        }
        option->group(std::string(title(binding.info.group)));
    }
    app.footer(
        "Sizes take KiB MiB GiB (1024) and KB MB GB (1000); times take us ms s m h.\n"
        "Exit codes: 0 done, 1 a --require is missed, 2 wrong usage, 4 nothing was measured, 5 failed at run time,\n"
        "130 interrupted (partial figures are written).\n"
        "Example: feedline bench /data/train --workload resnet50-h100 --cache cold");
}

// Another program may say by the environment where the result goes, beside what --json says.
std::string file_from_environment() {
    const char* path = std::getenv("FEEDLINE_RESULT_FILE");
    return path == nullptr ? "" : path;
}

void write_files(const BenchOptions& options, const ResultFile& file) {
    if (!options.json_file.empty()) write_json(file, options.json_file);
    if (!options.csv_file.empty()) write_file_atomically(options.csv_file, render_csv(file));
    const std::string more = file_from_environment();
    if (!more.empty()) write_json(file, more);
}

// Says what is missed; true when something is.
bool report_missed(const BenchOptions& options, const ResultFile& file) {
    bool any = false;
    for (const std::string& text : options.require) {
        for (const std::string& line : missed(parse_requirement(text), file.results)) {
            fmt::print(stderr, "feedline: {}\n", printable(line));
            any = true;
        }
    }
    return any;
}

Ending run(const BenchOptions& options, const std::string& typed, const Interrupt& interrupt) {
    const Capabilities machine = machine_capabilities();
    check_options(options, machine);
    check_output("FEEDLINE_RESULT_FILE", file_from_environment());
    const bool live = !options.quiet && !options.no_progress && ::isatty(STDERR_FILENO) == 1;
    TerminalProgress progress(stderr, live);
    const BenchOutcome outcome = run_bench(options, machine, make_context(typed), progress, interrupt);
    progress.clear();
    const Ending early{exit_code(outcome, false), outcome.interrupted || outcome.stuck};
    try {
        write_files(options, outcome.file);
    } catch (const Error& error) {
        fmt::print(stderr, "feedline: {}\n", error.what());
        return {exit_code(error.kind()), early.at_once};
    }
    if (!options.quiet) fmt::print("{}", render_table(outcome.file));
    if (outcome.interrupted) {
        if (!options.quiet) fmt::print(stderr, "feedline: interrupted; the figures are partial\n");
        return early;
    }
    if (outcome.file.results.empty()) {
        fmt::print(stderr, "feedline: nothing was measured: {}\n", printable(outcome.file.skipped.front().reason));
        return early;
    }
    return {exit_code(outcome, report_missed(options, outcome.file)), early.at_once};
}

}  // namespace

Command add_bench(CLI::App& app) {
    const auto options = std::make_shared<BenchOptions>();
    declare(app, *options);
    return [options](const std::string& typed, const Interrupt& interrupt) { return run(*options, typed, interrupt); };
}

}  // namespace feedline
