#include "bench/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "bench/explain.h"
#include "bench/report/best.h"
#include "bench/report/text.h"
#include "core/error.h"
#include "core/status_line.h"
#include "core/units.h"

namespace feedline {
namespace {

constexpr std::string_view kUnseen = "-";

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
    // Where the table is too wide, the column with the lowest number goes first; 0 stays.
    unsigned leaves = 0;
};
constexpr std::array kTable{
    Column{"tier"},
    Column{"engine"},
    Column{"samples/s", true},
    Column{"bytes/s", true, 1},
    Column{"idle", true},
    Column{"because", false, 3},
    Column{"AU", true, 2},
    Column{"cache", false, 6},
    Column{"feeds", true, 4},
    Column{"limit", false, 5},
};
using Row = std::array<std::string, kTable.size()>;
constexpr std::size_t kTierColumn = 0;
constexpr std::size_t kUtilizationColumn = 6;
constexpr std::size_t kCacheColumn = 7;
constexpr std::size_t kFeedsColumn = 8;

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
    if (result.status != RunStatus::ok && !result.only_controls_missing()) {
        row[9] = std::string(to_string(result.status));
    }
    return row;
}

// The columns of kTable that fit, and how wide each is.
struct Layout {
    std::vector<std::size_t> shown;
    std::array<std::size_t, kTable.size()> widths{};

    bool shows(std::size_t column) const { return std::find(shown.begin(), shown.end(), column) != shown.end(); }

    std::size_t total() const {
        std::size_t sum = 0;
        for (const std::size_t c : shown) sum += widths[c] + (c == shown.front() ? 0 : 2);
        return sum;
    }
};

Layout layout_of(const std::vector<Row>& rows, std::size_t width) {
    Layout layout;
    for (std::size_t c = 0; c < kTable.size(); ++c) {
        layout.shown.push_back(c);
        layout.widths[c] = kTable[c].title.size();
        for (const Row& row : rows) layout.widths[c] = std::max(layout.widths[c], text_columns(row[c]));
    }
    // A long name of a tier is cut a little before a column goes.
    constexpr std::size_t kEnoughTier = 16;
    constexpr std::size_t kLeastTier = 6;
    const auto cut_tier = [&](std::size_t least) {
        const std::size_t excess = layout.total() - std::min(layout.total(), width);
        std::size_t& tier = layout.widths[kTierColumn];
        if (tier > least) tier = std::max(least, tier - std::min(tier, excess));
    };
    cut_tier(kEnoughTier);
    for (unsigned next = 1; next <= kTable.size() && layout.total() > width; ++next) {
        std::erase_if(layout.shown, [&](std::size_t c) { return kTable[c].leaves == next; });
    }
    cut_tier(kLeastTier);
    return layout;
}

std::string table_of(const std::vector<Row>& rows, const Layout& layout) {
    const auto line = [&](const auto& cell) {
        std::string out;
        for (const std::size_t c : layout.shown) {
            const std::size_t wide = layout.widths[c];
            out += (c == layout.shown.front() ? "" : "  ") +
                   padded(shortened(std::string(cell(c)), wide), wide, kTable[c].right);
        }
        out.erase(out.find_last_not_of(' ') + 1);
        return out + "\n";
    };
    std::string out = line([](std::size_t c) { return kTable[c].title; });
    for (const Row& row : rows) out += line([&](std::size_t c) { return std::string_view(row[c]); });
    return out;
}

// What the words of the report mean, of those that stand in it.
std::string legend(const std::vector<Result>& results, const std::vector<Row>& rows, const Layout& layout,
                   std::size_t width) {
    const auto any_result = [&](const auto& holds) { return std::any_of(results.begin(), results.end(), holds); };
    const auto any_row = [&](std::size_t column, std::string_view word) {
        return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row[column] == word; });
    };
    const auto tells = [&](std::size_t column) {
        return layout.shows(column) &&
               std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row[column] != kUnseen; });
    };
    const bool steps = any_result([](const Result& result) { return result.step_seconds > 0; });
    const bool controls = any_result([](const Result& result) {
        const Controls& all = result.controls;
        return all.null_storage || all.null_step || all.warm || all.h2d || all.serial;
    });
    std::string verdicts;
    for (const auto& [verdict, meaning] : {std::pair{"cold", "read from the device"},
                                           {"warm", "from memory"},
                                           {"mixed", "partly from memory"},
                                           {"unknown", "cannot be told"}}) {
        if (any_row(kCacheColumn, verdict)) {
            verdicts += fmt::format("{}{}: {}", verdicts.empty() ? "" : "; ", verdict, meaning);
        }
    }
    std::string out;
    const auto add = [&](bool used, std::string_view word, std::string_view meaning) {
        if (used) out += wrapped(fmt::format("  {:<10}", word), meaning, width);
    };
    add(steps, "idle", "share of the epoch in which an accelerator does not compute, the first fill included");
    add(steps, "steady", "idle from the end of the first step, or of the warm-up, to the end of the last");
    add(steps && controls, "busy", "1 - steady idle");
    add(tells(kUtilizationColumn), "AU", "utilization as MLPerf Storage counts it: from the end of the first step");
    add(!verdicts.empty(), "cache", verdicts);
    add(tells(kFeedsColumn), "feeds", "about how many such accelerators the loader keeps busy");
    add(controls, "controls", "the same run without one part");
    return out;
}

std::string workload_line(const Result& result) {
    if (result.step_seconds <= 0) {
        return fmt::format("pure loading rate: no step time, batches of {}",
                           format_count(static_cast<double>(result.batch_size)));
    }
    const double demand = static_cast<double>(result.batch_size) / result.step_seconds;
    std::string text = fmt::format("{}: a batch of {} every {} asks for {} samples/s", result.workload,
                                   format_count(static_cast<double>(result.batch_size)),
                                   format_time(std::llround(result.step_seconds * 1e9)), format_per_second(demand));
    if (result.accelerators == 1) return fmt::format("{}; 1 x {}", text, result.device_name);
    return fmt::format("{} each; {} x {}: {} samples/s in all", text, result.accelerators, result.device_name,
                       format_per_second(demand * result.accelerators));
}

// Where there are several epochs, that one is shown, and what the others were.
std::string other_epochs(const Result& result, std::size_t width) {
    const std::size_t rounds = result.rounds.size();
    std::string figures;
    std::size_t epochs = 0;
    for (const std::vector<EpochResult>& round : result.rounds) {
        for (const EpochResult& epoch : round) {
            ++epochs;
            figures += fmt::format("{}{} samples/s", figures.empty() ? "" : "; ",
                                   format_per_second(epoch.samples_per_second()));
            if (result.step_seconds > 0) figures += fmt::format(", idle {}", format_percent(epoch.idle.fraction));
            figures += fmt::format(", {}", epoch.cache.verdict);
        }
    }
    if (epochs < 2) return {};
    const std::string of_rounds = rounds > 1 ? fmt::format(" of {} rounds", rounds) : std::string();
    return wrapped("  ", fmt::format("shown is the last of {} epochs{}: {}", epochs, of_rounds, figures), width);
}

// A bar for each cause that takes time.
std::string breakdown(const Result& result, const EpochResult& epoch, std::size_t width) {
    const IdleFigures& idle = epoch.idle;
    const double seconds = idle.idle_ns * 1e-9;
    std::string out;
    if (result.step_seconds > 0) {
        out = wrapped("  ",
                      fmt::format("idle {} of {} ({}), steady {}", format_time(std::llround(idle.idle_ns)),
                                  format_time(std::llround(epoch.seconds * 1e9)), format_percent(idle.fraction),
                                  idle.steady_fraction ? format_percent(*idle.steady_fraction) : "unknown"),
                      width);
    } else {
        out =
            wrapped("  ",
                    fmt::format("{} for {} of {} in all", format_time(std::llround(epoch.seconds * 1e9)),
                                format_counted(epoch.samples, "sample"), format_size(static_cast<double>(epoch.bytes))),
                    width);
    }
    out += other_epochs(result, width);
    if (seconds <= 0) return out;
    constexpr std::size_t kMostBar = 50;
    constexpr std::size_t kBeforeBar = 32;
    const auto bar_columns = static_cast<double>(std::min(kMostBar, width - std::min(width, kBeforeBar)));
    for (std::size_t i = 0; i < kCauses; ++i) {
        const double share = idle.by_cause.ns[i] / idle.idle_ns;
        if (idle.by_cause.ns[i] <= 0) continue;
        const std::string bar(static_cast<std::size_t>(std::lround(share * bar_columns)), '#');
        out += fmt::format("    {:<8}{:>8}  {:>8}{}{}\n", to_string(static_cast<Cause>(i)), format_percent(share),
                           format_time(std::llround(idle.by_cause.ns[i])), bar.empty() ? "" : "  ", bar);
    }
    return out;
}

constexpr std::size_t kRoomForControls = 46;

// "    no storage                90,000    99.9 %", or closer together where `width` asks for it.
std::string control_cells(std::string_view name, std::string_view rate, std::string_view busy, std::size_t width) {
    return width < kRoomForControls ? fmt::format("{:<20} {:>9} {:>8}", name, rate, busy)
                                    : fmt::format("{:<24}{:>12}  {:>8}", name, rate, busy);
}

// One line a control: what the run reaches without one of its parts, below what it reached itself.
std::string controls_table(const Result& result, const EpochResult& epoch, std::size_t width) {
    const auto line = [width](std::string_view name, const std::optional<double>& samples_per_second,
                              const std::optional<double>& busy, const std::string& note) {
        const std::string text =
            control_cells((width < kRoomForControls ? "  " : "    ") + std::string(name),
                          samples_per_second ? format_per_second(*samples_per_second) : std::string(kUnseen),
                          busy ? format_percent(*busy) : std::string(kUnseen), width);
        return note.empty() ? text + "\n" : wrapped(text + "  ", note, width);
    };
    const Controls& controls = result.controls;
    const auto both = [](const std::string& one, const std::string& other) {
        return one + (one.empty() || other.empty() ? "" : "; ") + other;
    };
    const bool steps = result.step_seconds > 0;
    std::string out;
    const auto add = [&](std::string_view name, const std::optional<ControlFigures>& control) {
        if (control) out += line(name, control->samples_per_second, control->utilization, control->note);
    };
    add("no storage", controls.null_storage);
    // Without a step it is the measured run, and with one there is nothing to be busy with.
    if (steps && controls.null_step) {
        out += line("no step", controls.null_step->samples_per_second, std::nullopt, controls.null_step->note);
    }
    add("from memory", controls.warm);
    add("copies alone", controls.h2d);
    if (controls.serial && steps) {
        // Its rate without steps says nothing of what overlapping steps is worth.
        out += line("nothing overlapped", std::nullopt, controls.serial->utilization,
                    both(overlap_worth(result), controls.serial->note));
    } else if (controls.serial) {
        out += line("nothing overlapped", controls.serial->samples_per_second, std::nullopt,
                    both("without steps, reading and copying overlap", controls.serial->note));
    }
    if (out.empty()) return out;
    std::optional<double> busy;
    if (steps && epoch.idle.steady_fraction) busy = 1 - *epoch.idle.steady_fraction;
    // With steps its rate is the accelerator's as much as the loader's.
    const std::optional<double> rate = steps ? std::nullopt : std::optional(epoch.samples_per_second());
    return control_cells("  controls", "samples/s", "busy", width) + "\n" + line("this run", rate, busy, "") + out;
}

// What stands once for a dataset, however many engines read it. `said`: what was said of others before, and is not
// said again.
std::string dataset_lines(const Result& result, std::set<std::string>& said, std::size_t width) {
    std::string out;
    const std::string classes = class_map_line(result.dataset);
    if (!classes.empty() && said.insert(classes).second) out += wrapped("  ", classes, width);
    for (const Oddity& oddity : result.dataset.oddities) {
        out += wrapped("  noticed: ",
                       fmt::format("{} {}, first {}", format_count(static_cast<double>(oddity.count)), oddity.kind,
                                   printable(oddity.example)),
                       width);
    }
    return out;
}

// Such a warning stands above the table, once.
bool is_not_cold(const std::string& warning) {
    return warning.starts_with("NOT COLD");
}

// What every one of several results notes; it stands once, above them.
std::vector<std::string> notes_of_all(const std::vector<Result>& results) {
    std::vector<std::string> notes;
    if (results.size() < 2) return notes;
    for (const std::string& note : results.front().notes) {
        const bool everywhere = std::all_of(results.begin(), results.end(), [&](const Result& result) {
            return std::find(result.notes.begin(), result.notes.end(), note) != result.notes.end();
        });
        if (everywhere) notes.push_back(note);
    }
    return notes;
}

std::string details(const Result& result, bool cache_in_table, std::size_t width) {
    std::string out = printable(result.name) + "\n";
    const std::string warning = headline_warning(result);
    if (!warning.empty() && !is_not_cold(warning)) out += wrapped("  ! ", warning, width);
    const EpochResult* epoch = result.last_epoch();
    if (epoch != nullptr) {
        out += breakdown(result, *epoch, width);
        std::string reads =
            fmt::format("p50 {}, p99 {}, longest {}", format_time(epoch->read_latency_ns.p50),
                        format_time(epoch->read_latency_ns.p99), format_time(epoch->read_latency_ns.max));
        if (const std::optional<double> device_reads = epoch->device_reads_per_sample()) {
            reads += fmt::format("; {:.2f} device reads a sample", *device_reads);
        }
        out += wrapped("  reads ", reads, width);
        if (!cache_in_table) out += wrapped("  cache ", epoch->cache.verdict, width);
        out += controls_table(result, *epoch, width);
    }
    return out;
}

}  // namespace

std::string headline_warning(const Result& result) {
    if (result.status == RunStatus::failed) return "failed: " + printable(result.error);
    const EpochResult* epoch = result.last_epoch();
    const bool cold = result.config.is_object() && result.config.value("cache", "") == "cold";
    if (cold && epoch != nullptr && epoch->cache.verdict != "cold") {
        const std::string& reason = epoch->cache.reason;
        std::string why = epoch->cache.verdict != "unknown" ? "and was " + epoch->cache.verdict
                          : reason.empty()                  ? "and whether it was cannot be told"
                                                            : "and whether it was cannot be told: " + printable(reason);
        if (epoch->cache.resident_before) {
            why += fmt::format(" ({} resident before", format_percent(*epoch->cache.resident_before));
            if (epoch->cache.device_bytes) {
                why += fmt::format(", {} of {} from the device",
                                   format_size(static_cast<double>(*epoch->cache.device_bytes)),
                                   format_size(static_cast<double>(epoch->cache.least_bytes)));
            }
            why += ")";
        }
        if (result.tier.tier_kind == "ram") {
            why += fmt::format("; {} is memory, which no engine can read cold, O_DIRECT included", result.tier.fs_type);
        }
        return fmt::format("NOT COLD: asked for a cold cache {}; no baseline for a gate", why);
    }
    if (result.only_controls_missing()) {
        std::string names;
        for (const std::string& name : result.missing) {
            names += (names.empty() ? "" : ", ") + name.substr(name.find('.') + 1);
        }
        return "controls interrupted: the measured epoch is complete; missing: " + names;
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

std::size_t table_columns(std::size_t terminal_columns) {
    if (terminal_columns == 0) return kMostTableColumns;
    return std::clamp(terminal_columns, kLeastTableColumns, kMostTableColumns);
}

std::string render_table(const ResultFile& file, std::size_t columns) {
    std::string out;
    for (const Result& result : file.results) {
        const std::string warning = headline_warning(result);
        if (is_not_cold(warning)) out += wrapped("! ", printable(result.name) + ": " + warning, columns);
    }
    for (const Result& result : file.results) {
        for (const std::string& line : result.missed_requirements) out += wrapped("! ", printable(line), columns);
        for (const std::string& line : result.unjudged_requirements) out += wrapped("! ", printable(line), columns);
    }
    std::set<std::string> said;
    for (const Result& result : file.results) {
        const std::string line = workload_line(result);
        if (said.insert(line).second) out += wrapped("", line, columns);
    }
    std::vector<Row> rows;
    rows.reserve(file.results.size());
    for (const Result& result : file.results) rows.push_back(row_of(result));
    const Layout layout = layout_of(rows, columns);
    if (!rows.empty()) {
        out += "\n" + table_of(rows, layout);
        for (const std::string& line : best_lines(file.results)) out += wrapped("", line, columns);
        out += legend(file.results, rows, layout, columns);
    }
    const std::vector<std::string> of_all = notes_of_all(file.results);
    for (const std::string& note : of_all) out += wrapped("note: ", printable(note), columns);
    std::set<std::string> described;
    for (const Result& result : file.results) {
        out += "\n" + details(result, layout.shows(kCacheColumn), columns);
        for (const std::string& note : result.notes) {
            if (std::find(of_all.begin(), of_all.end(), note) != of_all.end()) continue;
            out += wrapped("  note: ", printable(note), columns);
        }
        if (described.insert(result.tier_name).second) out += dataset_lines(result, said, columns);
        if (result.status != RunStatus::failed) out += wrapped("  => ", explain(result), columns);
    }
    bool any_skipped = false;
    for (const Skipped& entry : file.skipped) {
        if (!entry.expected) continue;
        if (!any_skipped) out += "\n";
        any_skipped = true;
        out += wrapped("skipped: ", printable(entry.name) + ": " + printable(entry.reason), columns);
    }
    return out;
}

}  // namespace feedline
