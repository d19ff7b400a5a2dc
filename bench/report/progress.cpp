#include "bench/report/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/units.h"

namespace feedline {
namespace {

constexpr Nanoseconds kRedraw = 100'000'000;
}  // namespace

std::string progress_text(const Progress& progress, const Goal& goal) {
    std::string text = "step " + format_count(static_cast<double>(progress.steps));
    const auto share = [](auto part, auto whole) {
        return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
    };
    const double of_steps = share(progress.steps, goal.steps);
    if (goal.steps > 0) {
        text += fmt::format(" of {} ({})", format_count(static_cast<double>(goal.steps)), format_percent(of_steps));
    }
    const double seconds = to_seconds(progress.elapsed_ns);
    if (seconds > 0) {
        text += fmt::format("  {} samples/s  idle {} so far",
                            format_per_second(static_cast<double>(progress.samples) / seconds),
                            format_percent(progress.idle_fraction));
    }
    const double done = std::max(of_steps, share(progress.elapsed_ns, goal.duration_ns));
    const std::string left = done >= 1 ? "finishing" : format_left(progress.elapsed_ns, done);
    return left.empty() ? text : text + "  " + left;
}

void TerminalProgress::working(const std::string& what, std::uint64_t done, std::uint64_t total) {
    if (!live_) return;
    const Nanoseconds now = now_ns();
    if (what == last_what_ && now - last_ns_ < kRedraw) return;
    last_what_ = what;
    last_ns_ = now;
    std::string line = what;
    if (total > 0) {
        line += fmt::format(": {} of {}", format_count(static_cast<double>(done)),
                            format_count(static_cast<double>(total)));
    } else if (done > 0) {
        line += ": " + format_count(static_cast<double>(done));
    }
    line_.show(line);
}

void TerminalProgress::measuring(const std::string& what, const Progress& progress, const Goal& goal) {
    if (!live_) return;
    line_.show(printable(what) + ": " + progress_text(progress, goal));
}

void TerminalProgress::announce(const std::string& line) {
    clear();
    if (quiet_) return;
    fmt::print(out_, "feedline: {}\n", printable(line));
    std::fflush(out_);
}

void TerminalProgress::finished(const Result& result) {
    clear();
    if (result.status != RunStatus::failed) return;
    fmt::print(out_, "feedline: {}: {}\n", printable(result.name), result.error);
    std::fflush(out_);
}

}  // namespace feedline
