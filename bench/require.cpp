#include "bench/require.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "bench/quantity.h"
#include "core/error.h"
#include "core/similar.h"
#include "core/units.h"

namespace feedline {
namespace {

using Json = nlohmann::ordered_json;
using Comparison = Requirement::Comparison;

struct Operator {
    std::string_view text;
    Comparison comparison;
};
// Longer ones first, so that <= is not taken for <.
constexpr std::array kOperators{
    Operator{"<=", Comparison::less_equal}, Operator{">=", Comparison::greater_equal},
    Operator{"==", Comparison::equal},      Operator{"<", Comparison::less},
    Operator{">", Comparison::greater},
};

std::string_view trim(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

// The value at a dotted path; nullptr when there is none.
const Json* find(const Json& json, std::string_view path) {
    const Json* at = &json;
    while (true) {
        const std::size_t dot = path.find('.');
        if (!at->is_object()) return nullptr;
        const auto next = at->find(std::string(path.substr(0, dot)));
        if (next == at->end()) return nullptr;
        at = &*next;
        if (dot == std::string_view::npos) return at;
        path.remove_prefix(dot + 1);
    }
}

bool is_leaf(const Json* json) {
    return json != nullptr && !json->is_object() && !json->is_array();
}

// A result in which every figure of the schema is there.
Result complete_result() {
    Result result;
    result.config = config_json(BenchOptions{});
    result.rounds = {{EpochResult{}}};
    const ControlFigures control{0.0, 0.0, {}};
    result.controls = {control, control, control, control, control};
    return result;
}

bool compare(Comparison comparison, double left, double right) {
    switch (comparison) {
        case Comparison::less_equal: return left <= right;
        case Comparison::greater_equal: return left >= right;
        case Comparison::less: return left < right;
        case Comparison::greater: return left > right;
        case Comparison::equal: return left == right;
    }
    return false;
}

// What --require can name, as paths.
void add_paths(const Json& json, const std::string& above, std::vector<std::string>& paths) {
    for (const auto& [key, value] : json.items()) {
        std::string path = above;
        path += above.empty() ? "" : ".";
        path += key;
        if (value.is_object()) {
            add_paths(value, path, paths);
        } else if (is_leaf(&value)) {
            paths.push_back(std::move(path));
        }
    }
}

const Json& schema() {
    static const Json json = to_json(complete_result());
    return json;
}

const Json* find_in_schema(std::string_view path) {
    const Json* figure = find(schema()["epochs"][0], path);
    if (!is_leaf(figure)) figure = find(schema(), path);
    return is_leaf(figure) ? figure : nullptr;
}

std::string no_such_figure(std::string_view path) {
    std::vector<std::string> known;
    add_paths(schema()["epochs"][0], "", known);
    add_paths(schema(), "", known);
    // `requests` is part of an epoch and of the result.
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    return fmt::format("a result has no figure '{}'{}", printable(path), did_you_mean(path, known));
}

// Empty: it holds. Otherwise what was found.
std::string judge(const Requirement& requirement, const Json& figure) {
    if (figure.is_null()) return "nothing, for it could not be seen";
    if (figure.is_string()) {
        const std::string text = figure.get<std::string>();
        return text == requirement.value ? "" : text;
    }
    if (figure.is_boolean() && (requirement.value == "true" || requirement.value == "false")) {
        return figure.get<bool>() == (requirement.value == "true") ? "" : figure.get<bool>() ? "true" : "false";
    }
    const double left = figure.is_boolean() ? (figure.get<bool>() ? 1 : 0) : figure.get<double>();
    const Quantity quantity = quantity_of(requirement.path);
    const std::optional<double> right = parse_quantity(quantity, requirement.value);
    if (right && compare(requirement.comparison, left, *right)) return {};
    return show_quantity(quantity, left);
}

struct Figure {
    std::string_view path;
    std::string_view meaning;
    std::string_view example;
};
constexpr std::array kFigures{
    Figure{"idle.fraction", "share of the epoch that the accelerators waited, first fill included",
           "idle.fraction<=5%"},
    Figure{"idle.steady_fraction", "the same once warmed up", "idle.steady_fraction<1%"},
    Figure{"utilization.mlperf", "busy share as MLPerf Storage counts it", "utilization.mlperf>=90%"},
    Figure{"samples_per_second", "samples that reached the accelerators", "samples_per_second>=20000"},
    Figure{"bytes_per_second", "their bytes", "bytes_per_second>=2GB/s"},
    Figure{"seconds", "length of the epoch", "seconds<=90s"},
    Figure{"cache.verdict", "cold, mixed, warm or unknown", "cache.verdict==cold"},
    Figure{"latency_ns.read.p99", "99 of 100 reads took no longer", "latency_ns.read.p99<=5ms"},
    Figure{"requests.device_reads_per_sample", "reads that the device completed for a sample",
           "requests.device_reads_per_sample<=1.1"},
    Figure{"skipped_samples", "left out by --on-error skip", "skipped_samples==0"},
    Figure{"dataset.lost_samples", "left out of the index by it", "dataset.lost_samples==0"},
    Figure{"accelerators_sustained", "how many of these accelerators the tier keeps busy", "accelerators_sustained>=8"},
    Figure{"controls.null_storage.utilization", "what the measuring program itself can feed",
           "controls.null_storage.utilization>=99%"},
    Figure{"bottleneck", "storage, cpu, h2d, accelerator or harness", "bottleneck==accelerator"},
};

// The words that a figure can be, where they are few: another would be measured for and never be found.
struct Words {
    std::string_view path;
    std::vector<std::string> words;
};
const std::vector<Words>& closed_sets() {
    static const std::vector<Words> kSets{
        {"bottleneck", {"storage", "cpu", "h2d", "accelerator", "harness"}},
        {"cache.verdict", {"cold", "mixed", "warm", "unknown"}},
        {"cache.metadata", {"cold", "warm", "unknown"}},
        {"status", {"ok", "partial", "failed"}},
    };
    return kSets;
}

// Empty, or why `word` is none of those that the figure at `path` can be.
std::string no_such_word(std::string_view path, std::string_view word) {
    for (const Words& set : closed_sets()) {
        if (set.path != path || std::find(set.words.begin(), set.words.end(), word) != set.words.end()) continue;
        return fmt::format("{} is one of {}, never '{}'", path, fmt::join(set.words, ", "), printable(word));
    }
    return {};
}

}  // namespace

Requirement parse_requirement(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        return Error(ErrorKind::usage, fmt::format("--require '{}': {}", printable(text), why));
    };
    Requirement requirement;
    requirement.text = text;
    std::size_t at = std::string_view::npos;
    std::string_view symbol;
    for (const Operator& entry : kOperators) {
        const std::size_t found = text.find(entry.text);
        if (found == std::string_view::npos || found >= at) continue;
        at = found;
        symbol = entry.text;
        requirement.comparison = entry.comparison;
    }
    for (const std::string_view turned : {"=<", "=>"}) {
        if (text.find(turned) != std::string_view::npos) {
            throw refuse(fmt::format("{} is written {}{}", turned, turned[1], turned[0]));
        }
    }
    if (at == std::string_view::npos) throw refuse("needs a comparison, as in 'idle.fraction<=5%'");
    requirement.path = trim(text.substr(0, at));
    requirement.value = trim(text.substr(at + symbol.size()));

    const Json* figure = find_in_schema(requirement.path);
    if (figure == nullptr) throw refuse(no_such_figure(requirement.path)).advise("--require help lists the usual ones");
    const std::string wrong_word = no_such_word(requirement.path, requirement.value);
    if (!wrong_word.empty() && requirement.comparison == Comparison::equal) throw refuse(wrong_word);
    const bool truth = figure->is_boolean() && (requirement.value == "true" || requirement.value == "false");
    if (figure->is_string() || truth) {
        if (requirement.comparison != Comparison::equal) throw refuse("a word can only be compared with ==");
        if (requirement.value.empty()) throw refuse("nothing to compare with");
        return requirement;
    }
    // What is null in the schema may hold a number or a word.
    if (figure->is_null() && requirement.comparison == Comparison::equal) return requirement;
    const Quantity quantity = quantity_of(requirement.path);
    if (parse_quantity(quantity, requirement.value)) return requirement;
    throw refuse(fmt::format("{} is compared with {}, and '{}' is none", requirement.path, how_to_write(quantity),
                             printable(requirement.value)));
}

std::string list_figures() {
    std::string text = "The usual figures, and a requirement with each:\n\n";
    for (const Figure& figure : kFigures) {
        text += fmt::format("  {:<36}{}\n  {:<36}--require '{}'\n", figure.path, figure.meaning, "", figure.example);
    }
    return text +
           "\nAny figure of the JSON will do: dots lead into an entry of `epochs`, or into a result. Comparisons are\n"
           "<= >= < > and ==. Shares can be given in percent, and times, sizes and rates with a unit; a number without "
           "one is\n"
           "in the unit of the JSON. It must hold for every result and every epoch.";
}

std::vector<Requirement> requirements_of(const BenchOptions& options) {
    std::vector<Requirement> all;
    all.reserve(options.require.size() + 1);
    for (const std::string& text : options.require) all.push_back(parse_requirement(text));
    constexpr std::string_view kVerdict = "cache.verdict";
    const bool judged =
        std::any_of(all.begin(), all.end(), [&](const Requirement& one) { return one.path == kVerdict; });
    if (!all.empty() && options.cache == CacheMode::cold && !judged) {
        all.push_back(parse_requirement("cache.verdict==cold"));
        all.back().reason = " (by --cache cold)";
    }
    return all;
}

namespace {

// What a requirement comes to over a result.
struct Judgement {
    std::vector<std::string> missed;
    std::vector<std::string> unjudged;
};

// What holds or not whatever the samples that are missing.
bool is_about_samples(std::string_view path) {
    static constexpr std::array<std::string_view, 5> kPaths{"skipped_samples", "samples", "steps_without_samples",
                                                            "samples_delivered_once", "dataset.lost_samples"};
    return std::find(kPaths.begin(), kPaths.end(), path) != kPaths.end();
}

Judgement judged(const Requirement& requirement, const Result& result) {
    Judgement found;
    const std::string required = fmt::format("required {}{}, ", requirement.text, requirement.reason);
    const auto check = [&](const Json& json, const EpochResult* epoch, const std::string& where) {
        const Json* figure = find(json, requirement.path);
        if (!is_leaf(figure)) return false;
        if (epoch != nullptr && epoch->lacks_samples() && !is_about_samples(requirement.path)) {
            found.unjudged.push_back(fmt::format("{}could not be judged, for {} of {} never arrived, in {}", required,
                                                 format_count(static_cast<double>(epoch->missing_samples())),
                                                 format_counted(epoch->due_samples(), "sample"), where));
            return true;
        }
        const bool measured = epoch == nullptr || epoch->measured();
        const std::string miss = measured ? judge(requirement, *figure) : "nothing, for no step was over";
        if (!miss.empty()) found.missed.push_back(fmt::format("{}found {}, in {}", required, miss, where));
        return true;
    };
    bool in_epochs = false;
    for (std::size_t r = 0; r < result.rounds.size(); ++r) {
        for (std::size_t e = 0; e < result.rounds[r].size(); ++e) {
            std::string where = result.name;
            if (result.rounds.size() > 1) where += fmt::format(", round {}", r + 1);
            if (result.rounds[r].size() > 1) where += fmt::format(", epoch {}", e + 1);
            in_epochs |= check(to_json(result.rounds[r][e]), &result.rounds[r][e], where);
        }
    }
    // An epoch without a step says nothing against the figures of a result that are there.
    const EpochResult* last = result.last_epoch();
    const EpochResult* lacking = last != nullptr && last->lacks_samples() ? last : nullptr;
    if (!in_epochs && !check(to_json(result), lacking, result.name)) {
        found.missed.push_back(fmt::format("{}found nothing, for it was not measured, in {}", required, result.name));
    }
    return found;
}

}  // namespace

std::vector<std::string> missed(const Requirement& requirement, const Result& result) {
    return judged(requirement, result).missed;
}

std::vector<std::string> unjudged(const Requirement& requirement, const Result& result) {
    return judged(requirement, result).unjudged;
}

void judge_requirements(const BenchOptions& options, std::vector<Result>& results) {
    const std::vector<Requirement> all = requirements_of(options);
    for (Result& result : results) {
        for (const Requirement& requirement : all) {
            Judgement found = judged(requirement, result);
            std::move(found.missed.begin(), found.missed.end(), std::back_inserter(result.missed_requirements));
            std::move(found.unjudged.begin(), found.unjudged.end(), std::back_inserter(result.unjudged_requirements));
        }
    }
}

}  // namespace feedline
