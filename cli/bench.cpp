#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "bench/check.h"
#include "bench/context.h"
#include "bench/options.h"
#include "bench/outputs.h"
#include "bench/report/csv.h"
#include "bench/report/progress.h"
#include "bench/report/table.h"
#include "bench/run.h"
#include "cli/command.h"
#include "core/status_line.h"

namespace feedline {
namespace {

void take(const OptionBinding& binding, const std::vector<std::string>& values) {
    const OptionInfo& info = binding.info;
    if (values.size() > 1 && !info.repeatable) {
        throw Error(ErrorKind::usage, fmt::format("--{} is given {} times; give it once", info.name, values.size()));
    }
    for (const std::string& value : values) {
        // Ends parsing, prints, and exits with 0, whatever else is missing.
        if (info.list != nullptr && (value == "help" || value == "list"))
            throw CLI::CallForVersion(info.list(), CLI::ExitCodes::Success);
        binding.set(value);
    }
}

CLI::Option* add_switch(CLI::App& app, const std::string& name, const char* value, const OptionBinding& binding,
                        const std::string& help) {
    return app.add_flag_callback(
        "--" + name, [set = binding.set, value] { set(value); }, help);
}

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
            option = add_switch(app, name, "true", binding, binding.help);
            if (binding.negatable) {
                add_switch(app, "no-" + name, "false", binding, "leave that out")
                    ->excludes(option)
                    ->group(std::string(title(binding.info.group)));
            }
        } else {
            option = app.add_option(
                "--" + name,
                [binding](const CLI::results_t& values) {
                    take(binding, values);
                    return true;
                },
                binding.help);
            option->expected(1)->type_name(std::string(binding.info.value));
            option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        }
        option->group(std::string(title(binding.info.group)));
    }
    app.footer(
        "Sizes take KiB MiB GiB (1024) and KB MB GB (1000); times take us ms s m h, and never go without.\n"
        "Exit codes: 0 done, 1 a --require is missed, 2 wrong usage, 4 nothing was measured, 5 failed at run time,\n"
        "130 interrupted (partial figures are written).\n"
        "Example: feedline bench /data/train --workload resnet50-h100 --cache cold");
}

// Another program may say by the environment where the result goes, beside what --json says.
std::string file_from_environment() {
    const char* path = std::getenv("FEEDLINE_RESULT_FILE");
    return path == nullptr ? "" : path;
}

void complain(std::string_view what) {
    tell(stderr, fmt::format("feedline: {}\n", what));
}

// The exit code of what could not be written, said; none: all was. One that fails does not cost the others.
std::optional<int> write_files(std::span<const Output> outputs, std::span<OutputFile> files, const ResultFile& result) {
    std::optional<int> failed;
    for (std::size_t i = 0; i < files.size(); ++i) {
        try {
            files[i].write(outputs[i].json ? json_text(result) : render_csv(result));
        } catch (const Error& error) {
            complain(error.what());
            failed = exit_code(error.kind());
        }
    }
    return failed;
}

// Says which requirements are missed, or could not be judged.
void report_requirements(const ResultFile& file) {
    for (const Result& result : file.results) {
        for (const std::string& line : result.missed_requirements) complain(printable(line));
        for (const std::string& line : result.unjudged_requirements) complain(printable(line));
    }
}

// Whether what is written to either appears in one place: a terminal, a log.
bool same_place(std::FILE* one, std::FILE* other) {
    struct stat a {};
    struct stat b {};
    if (::fstat(::fileno(one), &a) != 0 || ::fstat(::fileno(other), &b) != 0) return false;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// What people read. It makes way for a result that goes to standard output. Returns where it stands; null: nowhere.
std::FILE* print_table(const BenchOptions& options, std::span<const Output> outputs, const ResultFile& file) {
    if (options.quiet) return nullptr;
    const bool taken = std::any_of(outputs.begin(), outputs.end(),
                                   [](const Output& output) { return is_standard_output(output.path); });
    std::FILE* out = taken ? stderr : stdout;
    tell(out, render_table(file, table_columns(terminal_columns(out))));
    return out;
}

Ending run(BenchOptions options, const std::string& typed, const Interrupt& interrupt) {
    options.result_file = file_from_environment();
    const Capabilities machine = machine_capabilities();
    check_options(options, machine);
    const std::vector<Output> outputs = outputs_of(options);
    std::vector<OutputFile> files = open_outputs(outputs);
    const bool live = !options.quiet && !options.no_progress && StatusLine::possible(stderr);
    TerminalProgress progress(stderr, live, options.quiet);
    const BenchOutcome outcome = run_bench(options, machine, make_context(typed), progress, interrupt);
    progress.clear();
    const Ending early{exit_code(outcome), outcome.interrupted || outcome.stuck};
    const std::optional<int> failed = write_files(outputs, files, outcome.file);
    std::FILE* const table = print_table(options, outputs, outcome.file);
    if (failed) return {*failed, early.at_once};
    if (outcome.interrupted) {
        const std::vector<Result>& results = outcome.file.results;
        const bool complete = !results.empty() && results.back().only_controls_missing();
        if (!options.quiet) {
            complain(complete ? "interrupted; the measured figures are complete, controls are missing"
                              : "interrupted; the figures are partial");
        }
        return early;
    }
    if (outcome.file.results.empty()) {
        complain("nothing was measured: " + printable(outcome.file.skipped.front().reason));
        return early;
    }
    // The table begins with them.
    if (table == nullptr || !same_place(table, stderr)) report_requirements(outcome.file);
    return early;
}

}  // namespace

Command add_bench(CLI::App& app) {
    const auto options = std::make_shared<BenchOptions>();
    declare(app, *options);
    return [options](const std::string& typed, const Interrupt& interrupt) { return run(*options, typed, interrupt); };
}

}  // namespace feedline
