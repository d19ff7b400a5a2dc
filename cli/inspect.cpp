#include "loaders/inspect/inspect.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "cli/command.h"
#include "cli/json_error.h"
#include "core/error.h"
#include "core/status_line.h"
#include "core/units.h"

namespace feedline {
namespace {

constexpr const char* kSchema = "feedline.inspect/1";
constexpr std::uint64_t kFirstKeys = 5;
constexpr std::uint64_t kLookedInto = 200;

struct Arguments {
    std::string dataset;
    std::string format = "auto";
    std::string hdf5_dataset;
    bool json = false;
};

void declare(CLI::App& app, Arguments& arguments) {
    app.add_option("DATASET", arguments.dataset, "path of a dataset of any format")->required();
    app.add_option("--format", arguments.format, "of DATASET (default auto)")->type_name("NAME");
    app.add_option("--hdf5-dataset", arguments.hdf5_dataset, "hdf5: whose rows are the samples (default: found)")
        ->type_name("NAME");
    app.add_flag("--json", arguments.json, "print it, or what failed, as JSON (default off)");
    app.footer("Example: feedline inspect /data/train-tfrecord");
}

nlohmann::ordered_json label_json(const Label& label) {
    if (const auto* number = std::get_if<std::int64_t>(&label)) return *number;
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&label)) return *numbers;
    if (const auto* text = std::get_if<std::string>(&label)) return printable(*text);
    return nullptr;
}

void show_json(const Description& description) {
    const DatasetInfo& info = description.info;
    nlohmann::ordered_json classes = nlohmann::ordered_json::array();
    for (const ClassName& one : info.classes) {
        classes.push_back({{"label", one.label}, {"name", printable(one.name)}, {"samples", one.samples}});
    }
    nlohmann::ordered_json first = nlohmann::ordered_json::array();
    for (const InspectedSample& sample : description.first) {
        nlohmann::ordered_json parts = nlohmann::ordered_json::array();
        for (const auto& [name, bytes] : sample.parts) parts.push_back({{"name", printable(name)}, {"bytes", bytes}});
        nlohmann::ordered_json one = {
            {"key", printable(sample.key)}, {"record_bytes", sample.record_bytes}, {"parts", parts}};
        if (!sample.path.empty()) one["path"] = printable(sample.path);
        if (!std::holds_alternative<std::monostate>(sample.label)) one["label"] = label_json(sample.label);
        if (!sample.class_name.empty()) one["class"] = printable(sample.class_name);
        if (!sample.problem.empty()) one["problem"] = printable(sample.problem);
        first.push_back(one);
    }
    nlohmann::ordered_json warnings = nlohmann::ordered_json::array();
    for (const std::string& warning : description.warnings) warnings.push_back(printable(warning));
    const SizeDistribution& sizes = description.sizes;
    const nlohmann::ordered_json json = {{"schema", kSchema},
                                         {"path", printable(info.path)},
                                         {"format", info.format},
                                         {"shards", info.shards},
                                         {"samples", info.samples},
                                         {"bytes", info.bytes},
                                         {"extents", description.has_extents},
                                         {"manifest", description.has_manifest},
                                         {"record_bytes",
                                          {{"smallest", sizes.smallest_bytes},
                                           {"p10", sizes.p10_bytes},
                                           {"p50", sizes.p50_bytes},
                                           {"p90", sizes.p90_bytes},
                                           {"p99", sizes.p99_bytes},
                                           {"largest", sizes.largest_bytes},
                                           {"mean", sizes.mean_bytes},
                                           {"of_all", sizes.of_all}}},
                                         {"labels",
                                          {{"looked_into", description.looked_into},
                                           {"number", description.with_number},
                                           {"list", description.with_list},
                                           {"text", description.with_text}}},
                                         {"classes", classes},
                                         {"first", first},
                                         {"warnings", warnings}};
    tell(stdout, json.dump(1) + "\n");
}

std::string label_text(const InspectedSample& sample) {
    std::string text;
    if (const auto* number = std::get_if<std::int64_t>(&sample.label)) text = fmt::format("{}", *number);
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&sample.label))
        text = fmt::format("[{}]", fmt::join(*numbers, ", "));
    if (const auto* words = std::get_if<std::string>(&sample.label)) text = fmt::format("\"{}\"", printable(*words));
    if (text.empty()) return "no label";
    return sample.class_name.empty() ? "label " + text
                                     : fmt::format("label {} ({})", text, printable(sample.class_name));
}

std::string labels_line(const Description& description) {
    std::string kinds;
    const auto add = [&](std::uint64_t count, const char* kind) {
        if (count == 0) return;
        kinds += fmt::format("{}{} of {} looked into have {}", kinds.empty() ? "" : ", ", count,
                             description.looked_into, kind);
    };
    add(description.with_number, "a number");
    add(description.with_list, "several numbers");
    add(description.with_text, "text");
    return kinds.empty() ? fmt::format("none in the {} looked into", description.looked_into) : kinds;
}

void show(const Description& description) {
    const DatasetInfo& info = description.info;
    const auto size = [](std::uint64_t bytes) { return format_size(static_cast<double>(bytes)); };
    const SizeDistribution& sizes = description.sizes;
    tell(stdout, fmt::format("{}\n", printable(info.path)));
    tell(stdout, fmt::format("  format   {}{}{}\n", info.format, description.has_manifest ? ", packed by feedline" : "",
                             info.layout.empty() ? "" : ": " + printable(info.layout)));
    tell(stdout, fmt::format("  samples  {} in {}, {}\n", format_count(static_cast<double>(info.samples)),
                             info.packed ? format_counted(info.shards, "shard") : "as many files", size(info.bytes)));
    tell(stdout,
         fmt::format("  records  {} on average; {} smallest, {} 10 %, {} 50 %, {} 90 %, {} 99 %, {} largest{}\n",
                     format_size(sizes.mean_bytes), size(sizes.smallest_bytes), size(sizes.p10_bytes),
                     size(sizes.p50_bytes), size(sizes.p90_bytes), size(sizes.p99_bytes), size(sizes.largest_bytes),
                     sizes.of_all ? "" : " (of a million at even distances)"));
    tell(stdout, fmt::format("  labels   {}\n", labels_line(description)));
    if (!info.classes.empty()) {
        constexpr std::size_t kShown = 10;
        std::string line = fmt::format("  classes  {}:", info.classes.size());
        for (std::size_t i = 0; i < std::min(kShown, info.classes.size()); ++i) {
            line +=
                fmt::format("{} {} = {}", i == 0 ? "" : ",", info.classes[i].label, printable(info.classes[i].name));
        }
        tell(stdout, line + (info.classes.size() > kShown ? ", ... (all with --json)\n" : "\n"));
    }
    for (std::size_t i = 0; i < description.first.size(); ++i) {
        const InspectedSample& sample = description.first[i];
        std::string parts;
        for (const auto& [name, bytes] : sample.parts) {
            parts += fmt::format("{}{}{}", parts.empty() ? "" : " + ", name.empty() ? "" : printable(name) + " ",
                                 size(bytes));
        }
        tell(stdout, fmt::format("  {}    {}: {}, {}{}\n", i == 0 ? "first" : "     ", printable(sample.key),
                                 parts.empty() ? "nothing" : parts, label_text(sample),
                                 sample.problem.empty() ? "" : ", DAMAGED: " + printable(sample.problem)));
    }
    for (const std::string& warning : description.warnings)
        tell(stdout, fmt::format("  note     {}\n", printable(warning)));
}

Ending run(const Arguments& arguments) {
    OpenOptions opening;
    opening.skip_corrupt = true;
    opening.hdf5_dataset = arguments.hdf5_dataset;
    const std::shared_ptr<const Dataset> dataset = open_dataset(arguments.dataset, arguments.format, opening);
    const Description description = inspect(dataset, kFirstKeys, kLookedInto);
    if (arguments.json) {
        show_json(description);
    } else {
        show(description);
    }
    return {};
}

}  // namespace

Command add_inspect(CLI::App& app) {
    const auto arguments = std::make_shared<Arguments>();
    declare(app, *arguments);
    return [arguments](const std::string& /*typed*/, const Interrupt& /*interrupt*/) {
        return with_json_errors(arguments->json, kSchema, [&] { return run(*arguments); });
    };
}

}  // namespace feedline
