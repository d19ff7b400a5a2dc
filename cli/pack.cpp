#include "packers/pack/pack.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/json_error.h"
#include "cli/options.h"
#include "cli/progress_bar.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/status_line.h"
#include "core/units.h"
#include "loaders/dataset.h"
#include "loaders/oddity_text.h"
#include "packers/verify/verify.h"

namespace feedline {
namespace {

constexpr const char* kSchema = "feedline.pack/1";
constexpr int kDoesNotHold = 1;

struct Arguments {
    PackOptions options;
    std::string source;
    std::string source_format = "auto";
    std::string hdf5_dataset;
    std::string format;
    bool verify = false;
    bool dry_run = false;
    bool json = false;
    bool no_progress = false;
    bool quiet = false;
};

std::string known_formats() {
    std::string names;
    for (const Packer* packer : all_packers()) names += fmt::format("{}{}", names.empty() ? "" : "|", packer->format());
    return names;
}

void declare(CLI::App& app, Arguments& arguments) {
    PackOptions& options = arguments.options;
    app.add_option("SRC", arguments.source, "dataset to repack, of any format that bench reads")->required();
    app.add_option("DST", options.destination, "directory to write; must not exist or must be empty (see --overwrite)")
        ->required();
    app.add_option("--format", arguments.format, "format to write")->type_name(known_formats())->required();
    app.add_option("--source-format", arguments.source_format, "what SRC is (default auto)")->type_name("NAME");
    app.add_option("--hdf5-dataset", arguments.hdf5_dataset,
                   "of an HDF5 SRC: whose rows are the samples (default: found)")
        ->type_name("NAME");
    app.add_option("--name", options.name, "prefix of shard names (default SRC's own name)")->type_name("NAME");
    CLI::Option* size = add_size(app, "--shard-size", options.shard_bytes,
                                 "most content in a shard; a larger sample gets one of its own");
    app.add_option("--shards", options.shards, "exactly N shards of about equal size")
        ->type_name("N")
        ->check(at_least_one())
        ->excludes(size);
    app.add_option("--order", options.order, "of samples in the shards (default sequential: as in SRC)")
        ->transform(CLI::Transformer(std::map<std::string, OrderMode>{{"sequential", OrderMode::sequential},
                                                                      {"shuffle", OrderMode::shuffle}})
                        .description(""))
        ->type_name("sequential|shuffle");
    app.add_option("--seed", options.seed, "seed of --order shuffle (default 0)")->type_name("N");
    app.add_option("--threads", options.threads,
                   "shards written at the same time, each by one thread (default as many as cores)")
        ->type_name("N")
        ->check(at_least_one());
    app.add_option(
           "--labels", options.labels,
           "auto or dir: SRC's own (of a folder: its first level); none; or a file of lines PATH<TAB>LABEL for every "
           "sample, PATH relative to SRC, LABEL a number, numbers with commas, or text (default auto)")
        ->type_name("auto|dir|none|FILE");
    app.add_option("--parts", options.parts,
                   "which parts of a sample to keep, as in jpg,json; the first is the one to train on (default all)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("NAME,...");
    app.add_option("--on-error", options.on_error,
                   "skip leaves out and counts samples that cannot be read (default stop)")
        ->transform(CLI::Transformer(std::map<std::string, OnError>{{"stop", OnError::stop}, {"skip", OnError::skip}})
                        .description(""))
        ->type_name("stop|skip");
    app.add_option_function<std::string>(
           "--rate-limit",
           [&options](const std::string& text) {
               options.rate_bytes_per_second = parse_rate(text);
               if (options.rate_bytes_per_second <= 0) {
                   throw Error(ErrorKind::usage, "a --rate-limit of 0 would never write anything")
                       .advise("Leave it out where there is to be no limit");
               }
           },
           "write at most so much (default no limit)")
        ->type_name("RATE");
    app.add_flag("--resume", options.resume,
                 "go on with what an interrupted run has left; where it left nothing, begin (default off)");
    app.add_flag("--overwrite", options.overwrite,
                 "replace a packed dataset at DST, once the new one is whole (default off)");
    app.add_option("--verify", arguments.verify, "full: then compare every sample with SRC (default none)")
        ->transform(CLI::Transformer(std::map<std::string, bool>{{"full", true}, {"none", false}}).description(""))
        ->type_name("full|none");
    app.add_flag("--dry-run", arguments.dry_run, "say what would be written, and write nothing (default off)");
    app.add_flag("--json", arguments.json,
                 "print the outcome, or what failed, as JSON on stdout, also with --quiet (default off)");
    app.add_flag("--no-progress", arguments.no_progress, "no progress on the terminal (default off)");
    app.add_flag("--quiet", arguments.quiet, "print nothing but errors (default off)");
    app.footer(
        "Sizes take KiB MiB GiB (1024) and KB MB GB (1000), without a unit they are bytes; rates are sizes a second: "
        "100MB/s.\n"
        "Exit codes: 0 done (what was skipped is counted); 1 --verify found something; 2 wrong usage; 5 it could not "
        "be read or\n"
        "written; 130 interrupted.\n"
        "Example: feedline pack /data/train /data/train-tfrecord --format tfrecord --order shuffle");
}

void show_plan(const Arguments& arguments, const Packer& packer, const PackPlan& plan) {
    if (arguments.json) {
        const nlohmann::ordered_json json = {{"schema", kSchema},
                                             {"dry_run", true},
                                             {"format", packer.format()},
                                             {"shards", plan.shards},
                                             {"samples", plan.samples},
                                             {"source_bytes", plan.source_bytes},
                                             {"estimated_bytes", plan.estimated_bytes},
                                             {"free_bytes", plan.free_bytes},
                                             {"estimated_seconds", plan.estimated_seconds},
                                             {"estimated_from", plan.past_cache ? "storage" : "cache or storage"},
                                             {"complete", plan.complete},
                                             {"replaces", plan.replaces},
                                             {"notes", plan.notes}};
        tell(stdout, json.dump(1) + "\n");
        return;
    }
    tell(stdout,
         fmt::format("{} of {} would become {} of {}, about {} ({} are free)\n", format_counted(plan.samples, "sample"),
                     format_size(static_cast<double>(plan.source_bytes)), format_counted(plan.shards, "shard"),
                     packer.format(), format_size(static_cast<double>(plan.estimated_bytes)),
                     format_size(static_cast<double>(plan.free_bytes))));
    tell(stdout, fmt::format("reading alone would take about {}, as far as a few samples show, {}\n",
                             format_time(static_cast<Nanoseconds>(plan.estimated_seconds * 1e9)),
                             plan.past_cache ? "read from the storage itself"
                                             : "read through the page cache, which may have had them"));
    if (plan.complete) tell(stdout, "the destination holds just that already: there is nothing to do\n");
    if (plan.replaces) tell(stdout, "the packed dataset at the destination would be replaced\n");
    for (const std::string& note : plan.notes) tell(stdout, fmt::format("note: {}\n", note));
}

// What became of labels, and what opening the source showed beside samples.
std::vector<std::string> notes_of(const Dataset& source, const PackResult& result) {
    std::vector<std::string> notes = result.notes;
    for (const Oddity& oddity : source.info().oddities) notes.push_back(to_text(oddity));
    return notes;
}

void show_written(const std::string& where, const PackResult& result, Nanoseconds elapsed_ns) {
    const Manifest& manifest = result.manifest;
    tell(stdout, fmt::format("{}: {} in {} of {}, {} in {}\n", where, format_counted(manifest.samples(), "sample"),
                             format_counted(manifest.shards.size(), "shard"), manifest.format,
                             format_size(static_cast<double>(manifest.bytes())), format_time(elapsed_ns)));
    if (result.resumed_shards > 0) {
        tell(stdout,
             fmt::format("  {} had been written by an earlier run\n", format_counted(result.resumed_shards, "shard")));
    }
    if (manifest.left_out() > 0) {
        const auto first = std::find_if(manifest.shards.begin(), manifest.shards.end(),
                                        [](const PackedShard& shard) { return !shard.left_out.empty(); });
        tell(stdout, fmt::format("  left out: {}, such as {} ({}); all are in the manifest\n",
                                 format_counted(manifest.left_out(), "sample"), printable(first->left_out.front().path),
                                 printable(first->left_out.front().why)));
    }
}

// `verified` is null where it was not asked for.
void show_result(const Arguments& arguments, const Dataset& source, const PackResult& result, Nanoseconds elapsed_ns,
                 const VerifyResult* verified) {
    const Manifest& manifest = result.manifest;
    if (arguments.json) {
        nlohmann::ordered_json json = {{"schema", kSchema},
                                       {"format", manifest.format},
                                       {"path", printable(arguments.options.destination)},
                                       {"shards", manifest.shards.size()},
                                       {"resumed_shards", result.resumed_shards},
                                       {"samples", manifest.samples()},
                                       {"content_bytes", manifest.content_bytes()},
                                       {"bytes", manifest.bytes()},
                                       {"left_out", manifest.left_out()},
                                       {"seconds", to_seconds(elapsed_ns)}};
        json["notes"] = notes_of(source, result);
        if (verified != nullptr) json["verified"] = verified->found == 0;
        if (!result.left_beside.empty()) json["left_beside"] = printable(result.left_beside);
        if (!result.engine_fallback.empty()) json["engine_fallback"] = result.engine_fallback;
        tell(stdout, json.dump(1) + "\n");
        return;
    }
    const std::string where = printable(arguments.options.destination);
    if (result.was_complete) {
        tell(stdout, fmt::format("{}: is complete already, nothing was done\n", where));
        if (!result.left_beside.empty()) {
            tell(stdout, fmt::format("  note: an earlier run has left {}; --resume --overwrite removes it\n",
                                     printable(result.left_beside)));
        }
    } else {
        show_written(where, result, elapsed_ns);
    }
    for (const std::string& note : notes_of(source, result)) tell(stdout, fmt::format("  note: {}\n", note));
    if (verified != nullptr) {
        tell(stdout, verified->found > 0 ? fmt::format("  verified: NOT as it should be, {}\n",
                                                       format_counted(verified->found, "finding"))
                                         : fmt::format("  verified: {} compared with the source\n",
                                                       format_counted(verified->compared, "sample")));
    }
}

void show_findings(const VerifyResult& verified) {
    for (const Finding& finding : verified.findings) tell(stdout, "  " + to_text(finding) + "\n");
}

Ending run(const Arguments& arguments, const Interrupt& interrupt) {
    const Packer& packer = find_packer(arguments.format);
    OpenOptions opening;
    opening.skip_corrupt = arguments.options.on_error == OnError::skip;
    opening.hdf5_dataset = arguments.hdf5_dataset;
    const std::shared_ptr<const Dataset> source = open_dataset(arguments.source, arguments.source_format, opening);
    if (arguments.dry_run) {
        show_plan(arguments, packer, plan_pack(source, packer, arguments.options));
        return {};
    }
    const bool live = !arguments.quiet && !arguments.no_progress && StatusLine::possible(stderr);
    const Nanoseconds start = now_ns();
    StatusLine line(stderr);
    std::function<void(const PackProgress&)> progress;
    if (live) {
        progress = [&](const PackProgress& now) {
            line.show(progress_bar(now.samples, source->size(), "sample", now.content_bytes, now_ns() - start));
        };
    }
    PackOptions options = arguments.options;
    if (!arguments.quiet) {
        options.note = [](const std::string& note) { tell(stderr, fmt::format("feedline: note: {}\n", note)); };
    }
    const PackResult result = pack(source, packer, options, progress, interrupt);
    line.clear();
    const Nanoseconds elapsed = now_ns() - start;
    std::optional<VerifyResult> verified;
    if (arguments.verify) {
        VerifyOptions checks;
        checks.against = arguments.source;
        checks.against_format = arguments.source_format;
        checks.against_hdf5_dataset = arguments.hdf5_dataset;
        checks.threads = options.threads;
        verified = verify(options.destination, checks, {}, interrupt);
    }
    if (!arguments.quiet || arguments.json)
        show_result(arguments, *source, result, elapsed, verified ? &*verified : nullptr);
    if (verified && !arguments.json) show_findings(*verified);
    return {.exit_code = verified && verified->found > 0 ? kDoesNotHold : 0};
}

}  // namespace

Command add_pack(CLI::App& app) {
    const auto arguments = std::make_shared<Arguments>();
    declare(app, *arguments);
    return [arguments](const std::string& /*typed*/, const Interrupt& interrupt) {
        return with_json_errors(arguments->json, kSchema, [&] { return run(*arguments, interrupt); });
    };
}

}  // namespace feedline
