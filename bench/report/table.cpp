#include "bench/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "bench/bottleneck.h"
#include "core/error.h"
#include "core/units.h"

namespace feedline {
namespace {

constexpr std::string_view kUnseen = "-";

// Columns that `text` takes on a terminal: code points, which is right for what printable() lets through but for wide
// and combining characters.
std::size_t columns(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// At most `width` columns; what is cut off is marked.
std::string shortened(const std::string& text, std::size_t width) {
    if (columns(text) <= width) return text;
    std::string out;
    std::size_t taken = 0;
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U && ++taken > width - 2) break;
        out += c;
    }
    return out + "..";
}

std::string padded(const std::string& text, std::size_t width, bool right) {
    const std::size_t used = columns(text);
    const std::string space(width > used ? width - used : 0, ' ');
    return right ? space + text : text + space;
}

// Words of `text` on lines of at most kTableColumns, those after the first indented to stand below `first`'s end.
std::string wrapped(std::string_view first, std::string_view text) {
    const std::string indent(columns(first), ' ');
    std::string out(first);
    std::size_t at = columns(first);
    bool begins = true;
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        const std::string_view word = text.substr(0, space);
        if (!begins && at + 1 + columns(word) > kTableColumns) {
            out += "\n" + indent;
            at = indent.size();
            begins = true;
        }
        if (!begins) {
            out += ' ';
            ++at;
        }
        out += word;
        at += columns(word);
        begins = false;
        if (space == std::string_view::npos) break;
        text.remove_prefix(space + 1);
    }
    return out + "\n";
}

// The causes that make up most of the idle time: "read 80 %", "read 55 %, open 30 %".
std::string main_causes(const IdleFigures& idle) {
    if (idle.idle_ns <= 0) return "none";
    std::vector<std::pair<double, Cause>> shares;
    for (std::size_t i = 0; i < kCauses; ++i) {
        shares.emplace_back(idle.by_cause.ns[i] / idle.idle_ns, static_cast<Cause>(i));
    }
    std::sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr double kWorthNaming = 0.2;
    std::string text = fmt::format("{} {:.0f} %", to_string(shares[0].second), shares[0].first * 100);
    if (shares[1].first >= kWorthNaming) {
        text += fmt::format(", {} {:.0f} %", to_string(shares[1].second), shares[1].first * 100);
    }
    return text;
}

struct Column {
    std::string_view title;
    bool right = false;
};
constexpr std::array kTable{
    Column{"tier"},    Column{"engine"},   Column{"samples/s", true}, Column{"bytes/s", true}, Column{"idle", true},
    Column{"because"}, Column{"AU", true}, Column{"cache"},           Column{"feeds", true},   Column{"limit"},
};
using Row = std::array<std::string, kTable.size()>;
constexpr std::size_t kTierColumn = 0;

Row row_of(const Result& result) {
    Row row;
    row.fill(std::string(kUnseen));
    row[kTierColumn] = printable(result.tier_name);
    row[1] = result.engine;
    const EpochResult* epoch = result.last_epoch();
    if (epoch == nullptr) {
        row[5] = std::string(to_string(result.status));
        return row;
    }
    row[2] = format_per_second(epoch->samples_per_second());
    row[3] = format_rate(epoch->bytes_per_second());
    row[4] = result.step_seconds > 0 ? format_percent(epoch->idle.fraction) : std::string(kUnseen);
    row[5] = main_causes(epoch->idle);
    if (result.step_seconds > 0 && epoch->idle.mlperf_utilization) {
        row[6] = format_percent(*epoch->idle.mlperf_utilization);
    }
    row[7] = epoch->cache.verdict;
    if (result.accelerators_sustained) row[8] = fmt::format("{:.3g}", *result.accelerators_sustained);
    if (result.bottleneck != Bottleneck::unknown) row[9] = std::string(to_string(result.bottleneck));
    if (result.status != RunStatus::ok) row[9] = std::string(to_string(result.status));
    return row;
}

std::string table_of(const std::vector<Result>& results) {
    std::vector<Row> rows;
    rows.reserve(results.size());
    for (const Result& result : results) rows.push_back(row_of(result));
    std::array<std::size_t, kTable.size()> widths{};
    std::size_t total = 0;
    for (std::size_t c = 0; c < kTable.size(); ++c) {
        widths[c] = kTable[c].title.size();
        for (const Row& row : rows) widths[c] = std::max(widths[c], columns(row[c]));
        total += widths[c] + (c == 0 ? 0 : 2);
    }
    if (total > kTableColumns) {
        const std::size_t excess = total - kTableColumns;
        constexpr std::size_t kLeastTier = 6;
        widths[kTierColumn] = std::max(kLeastTier, widths[kTierColumn] > excess ? widths[kTierColumn] - excess : 0);
    }
    const auto line = [&](const auto& cell) {
        std::string out;
        for (std::size_t c = 0; c < kTable.size(); ++c) {
            out +=
                (c == 0 ? "" : "  ") + padded(shortened(std::string(cell(c)), widths[c]), widths[c], kTable[c].right);
        }
        out.erase(out.find_last_not_of(' ') + 1);
        return out + "\n";
    };
    std::string out = line([](std::size_t c) { return kTable[c].title; });
    for (const Row& row : rows) out += line([&](std::size_t c) { return std::string_view(row[c]); });
    return out;
}

std::string workload_line(const Result& result) {
    if (result.step_seconds <= 0) {
        return fmt::format("pure loading rate: no step time, batches of {}",
                           format_count(static_cast<double>(result.batch_size)));
    }
    const double demand = static_cast<double>(result.batch_size) / result.step_seconds;
    return fmt::format("{}: a batch of {} every {} asks for {} samples/s; {} x {}", result.workload,
                       format_count(static_cast<double>(result.batch_size)),
                       format_time(std::llround(result.step_seconds * 1e9)), format_per_second(demand),
                       result.accelerators, result.device_name);
}

// A bar for each cause that takes time.
std::string breakdown(const Result& result, const EpochResult& epoch) {
    const IdleFigures& idle = epoch.idle;
    const double seconds = idle.idle_ns * 1e-9;
    std::string out;
    if (result.step_seconds > 0) {
        out = fmt::format("  idle {} of {} ({}), {} once warmed up\n", format_time(std::llround(idle.idle_ns)),
                          format_time(std::llround(epoch.seconds * 1e9)), format_percent(idle.fraction),
                          idle.steady_fraction ? format_percent(*idle.steady_fraction) : "unknown");
    } else {
        out = fmt::format("  {} for {} samples of {} in all\n", format_time(std::llround(epoch.seconds * 1e9)),
                          format_count(static_cast<double>(epoch.samples)),
                          format_size(static_cast<double>(epoch.bytes)));
    }
    if (seconds <= 0) return out;
    constexpr double kBarColumns = 50;
    for (std::size_t i = 0; i < kCauses; ++i) {
        const double share = idle.by_cause.ns[i] / idle.idle_ns;
        if (idle.by_cause.ns[i] <= 0) continue;
        const std::string bar(static_cast<std::size_t>(std::lround(share * kBarColumns)), '#');
        out += fmt::format("    {:<8}{:>8}  {:>8}{}{}\n", to_string(static_cast<Cause>(i)), format_percent(share),
                           format_time(std::llround(idle.by_cause.ns[i])), bar.empty() ? "" : "  ", bar);
    }
    return out;
}

// One line a control: what the run reaches without one of its parts.
std::string controls_table(const Controls& controls) {
    const std::pair<std::string_view, const std::optional<ControlFigures>&> rows[] = {
        {"no storage", controls.null_storage}, {"no step", controls.null_step},         {"from memory", controls.warm},
        {"copies alone", controls.h2d},        {"nothing overlapped", controls.serial},
    };
    std::string out;
    for (const auto& [name, control] : rows) {
        if (!control) continue;
        if (out.empty()) out = fmt::format("  {:<22}{:>12}  {:>8}\n", "controls", "samples/s", "busy");
        const std::string rate =
            control->samples_per_second ? format_per_second(*control->samples_per_second) : std::string(kUnseen);
        const std::string busy = control->utilization ? format_percent(*control->utilization) : std::string(kUnseen);
        const std::string line = fmt::format("    {:<20}{:>12}  {:>8}", name, rate, busy);
        out += control->note.empty() ? line + "\n" : wrapped(line + "  ", control->note);
    }
    return out;
}

// What stands once for a dataset, however many engines read it.
std::string dataset_lines(const Result& result) {
    std::string out;
    const std::string classes = class_map_line(result.dataset);
    if (!classes.empty()) out += wrapped("  ", classes);
    for (const Oddity& oddity : result.dataset.oddities) {
        out += wrapped("  left out: ", fmt::format("{} {}, first {}", format_count(static_cast<double>(oddity.count)),
                                                   oddity.kind, printable(oddity.example)));
    }
    return out;
}

std::string details(const Result& result, bool new_dataset) {
    std::string out = printable(result.name) + "\n";
    const std::string warning = headline_warning(result);
    if (!warning.empty()) out += wrapped("  ! ", warning);
    const EpochResult* epoch = result.last_epoch();
    if (epoch != nullptr) {
        out += breakdown(result, *epoch);
        out += fmt::format("  reads p50 {}, p99 {}, longest {}", format_time(epoch->read_latency_ns.p50),
                           format_time(epoch->read_latency_ns.p99), format_time(epoch->read_latency_ns.max));
        if (epoch->device_reads && epoch->samples > 0) {
            out += fmt::format("; {:.2f} device reads a sample",
                               static_cast<double>(*epoch->device_reads) / static_cast<double>(epoch->samples));
        }
        out += "\n";
        out += controls_table(result.controls);
    }
    for (const std::string& note : result.notes) out += wrapped("  note: ", printable(note));
    if (new_dataset) out += dataset_lines(result);
    if (result.status == RunStatus::failed) return out;
    return out + wrapped("  => ", explain(result));
}

}  // namespace

std::string headline_warning(const Result& result) {
    if (result.status == RunStatus::failed) return "failed: " + printable(result.error);
    const EpochResult* epoch = result.last_epoch();
    const bool cold = result.config.is_object() && result.config.value("cache", "") == "cold";
    if (cold && epoch != nullptr && epoch->cache.verdict != "cold") {
        std::string why = epoch->cache.verdict == "unknown" ? "and whether it was cannot be seen here"
                                                            : "and was " + epoch->cache.verdict;
        if (epoch->cache.resident_before) {
            why += fmt::format(" ({} resident before", format_percent(*epoch->cache.resident_before));
            if (epoch->cache.device_bytes) {
                why += fmt::format(", {} of {} from the device",
                                   format_size(static_cast<double>(*epoch->cache.device_bytes)),
                                   format_size(static_cast<double>(epoch->cache.logical_bytes)));
            }
            why += ")";
        }
        return fmt::format("NOT COLD: asked for a cold cache {}; no baseline for a gate", why);
    }
    if (result.status == RunStatus::partial) return "partial: interrupted before its end";
    return {};
}

std::string class_map_line(const DatasetInfo& dataset) {
    if (dataset.classes.empty()) return {};
    constexpr std::size_t kShown = 3;
    std::string text = fmt::format("classes: {}:", format_count(static_cast<double>(dataset.classes.size())));
    for (std::size_t i = 0; i < std::min(kShown, dataset.classes.size()); ++i) {
        text +=
            fmt::format("{} {} = {}", i == 0 ? "" : ",", dataset.classes[i].label, printable(dataset.classes[i].name));
    }
    if (dataset.classes.size() > kShown) text += ", ... (all in the JSON)";
    return text;
}

std::string render_table(const ResultFile& file) {
    std::string out;
    for (const Result& result : file.results) {
        const std::string warning = headline_warning(result);
        if (warning.starts_with("NOT COLD")) out += wrapped("! ", printable(result.name) + ": " + warning);
    }
    if (!file.results.empty()) {
        out += wrapped("", workload_line(file.results.front()));
        out += "\n" + table_of(file.results);
        out +=
            "idle counts the first fill; AU is MLPerf Storage's utilization; feeds: accelerators this tier sustains\n";
    }
    std::set<std::string> described;
    for (const Result& result : file.results) {
        out += "\n" + details(result, described.insert(result.tier_name).second);
    }
    if (!file.skipped.empty()) out += "\n";
    for (const Skipped& entry : file.skipped)
        out += wrapped("skipped: ", printable(entry.name) + ": " + printable(entry.reason));
    return out;
}

}  // namespace feedline
