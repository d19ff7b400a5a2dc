#include "packers/verify/verify.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/json_error.h"
#include "cli/options.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/status_line.h"
#include "core/units.h"

namespace feedline {
namespace {

constexpr const char* kSchema = "feedline.verify/1";
constexpr int kDoesNotHold = 1;

struct Arguments {
    VerifyOptions options;
    std::string dataset;
    bool json = false;
    bool no_progress = false;
    bool quiet = false;
};

void declare(CLI::App& app, Arguments& arguments) {
    VerifyOptions& options = arguments.options;
    app.add_option("DATASET", arguments.dataset, "packed dataset, made by feedline pack or by anyone")->required();
    app.add_option("--against", options.against,
                   "what it was packed from: every sample is compared byte for byte, and its label")
        ->type_name("SRC");
    app.add_option("--format", options.format, "of DATASET (default auto)")->type_name("NAME");
    app.add_option("--threads", options.threads, "files read at the same time (default as many as cores)")
        ->type_name("N")
        ->check(at_least_one());
    app.add_flag("--json", arguments.json,
                 "print the outcome, or what failed, as JSON on stdout, also with --quiet (default off)");
    app.add_flag("--no-progress", arguments.no_progress, "no progress on the terminal (default off)");
    app.add_flag("--quiet", arguments.quiet, "print nothing but what is wrong, on stderr (default off)");
    app.footer(
        "Exit codes: 0 nothing is wrong; 1 something is, each is listed; 2 wrong usage; 5 it could not be read.\n"
        "Example: feedline verify /data/train-tfrecord --against /data/train");
}

void show_json(const Arguments& arguments, const VerifyResult& result, Nanoseconds elapsed_ns) {
    nlohmann::ordered_json findings = nlohmann::ordered_json::array();
    for (const Finding& finding : result.findings) {
        nlohmann::ordered_json one = {{"what", printable(finding.what)}, {"path", printable(finding.path)}};
        if (finding.offset_bytes) one["offset_bytes"] = *finding.offset_bytes;
        if (!finding.sample.empty()) one["sample"] = printable(finding.sample);
        findings.push_back(one);
    }
    const nlohmann::ordered_json json = {{"schema", kSchema},
                                         {"path", printable(arguments.dataset)},
                                         {"format", result.format},
                                         {"holds", result.found == 0},
                                         {"manifest", result.has_manifest},
                                         {"checksums", result.has_checksums},
                                         {"shards", result.shards},
                                         {"samples", result.samples},
                                         {"bytes", result.bytes},
                                         {"compared", result.compared},
                                         {"labels_compared", result.labels_compared},
                                         {"left_out", result.left_out},
                                         {"found", result.found},
                                         {"findings", findings},
                                         {"truncated", result.found > result.findings.size()},
                                         {"notes", result.notes},
                                         {"seconds", to_seconds(elapsed_ns)}};
    tell(stdout, json.dump(1) + "\n");
}

void show(const Arguments& arguments, const VerifyResult& result, Nanoseconds elapsed_ns) {
    constexpr std::size_t kShown = 20;
    const std::string where = printable(arguments.dataset);
    for (std::size_t i = 0; i < std::min(kShown, result.findings.size()); ++i) {
        tell(stdout, to_text(result.findings[i]) + "\n");
    }
    if (result.found > kShown)
        tell(stdout, fmt::format("... and {} more (--json has up to 1,000)\n", result.found - kShown));
    std::string judged = where + ": ";
    if (!result.format.empty()) {
        judged += fmt::format("{} in {} of {}, {} in {}: ", format_counted(result.samples, "sample"),
                              format_counted(result.shards, "shard"), result.format,
                              format_size(static_cast<double>(result.bytes)), format_time(elapsed_ns));
    }
    if (result.found > 0) {
        judged += fmt::format("NOT as it should be, {}", format_counted(result.found, "finding"));
    } else if (result.has_manifest) {
        judged += "every file is as it was written";
    } else {
        judged += result.has_checksums
                      ? "every record has the checksum that it says"
                      : "nothing is wrong with its structure; it has no checksums, so its bytes cannot be judged";
    }
    if (result.compared > 0) {
        judged += fmt::format("; {} compared with the source, {}", format_counted(result.compared, "sample"),
                              result.labels_compared ? "labels too" : "labels not: they were chosen otherwise");
    }
    if (result.left_out > 0) judged += fmt::format("; {} had been left out", format_counted(result.left_out, "sample"));
    for (const std::string& note : result.notes) tell(stdout, fmt::format("  note: {}\n", printable(note)));
    tell(stdout, judged + "\n");
}

Ending run(const Arguments& arguments, const Interrupt& interrupt) {
    const bool live = !arguments.quiet && !arguments.no_progress && StatusLine::possible(stderr);
    const Nanoseconds start = now_ns();
    StatusLine line(stderr);
    std::function<void(const VerifyProgress&)> progress;
    if (live) {
        progress = [&](const VerifyProgress& now) {
            const double done =
                now.bytes_in_all == 0 ? 0 : static_cast<double>(now.bytes) / static_cast<double>(now.bytes_in_all);
            const double seconds = to_seconds(now_ns() - start);
            line.show(fmt::format("{} of {}  {}  {}", format_size(static_cast<double>(now.bytes)),
                                  format_size(static_cast<double>(now.bytes_in_all)),
                                  format_rate(static_cast<double>(now.bytes) / std::max(seconds, 1e-3)),
                                  format_left(now_ns() - start, std::min(done, 1.0))));
        };
    }
    const VerifyResult result = verify(arguments.dataset, arguments.options, progress, interrupt);
    line.clear();
    const Nanoseconds elapsed = now_ns() - start;
    if (arguments.json) {
        show_json(arguments, result, elapsed);
    } else if (!arguments.quiet) {
        show(arguments, result, elapsed);
    } else {
        for (const Finding& finding : result.findings) tell(stderr, "feedline: " + to_text(finding) + "\n");
    }
    return {.exit_code = result.found > 0 ? kDoesNotHold : 0};
}

}  // namespace

Command add_verify(CLI::App& app) {
    const auto arguments = std::make_shared<Arguments>();
    declare(app, *arguments);
    return [arguments](const std::string& /*typed*/, const Interrupt& interrupt) {
        return with_json_errors(arguments->json, kSchema, [&] { return run(*arguments, interrupt); });
    };
}

}  // namespace feedline
