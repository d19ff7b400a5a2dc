#include "bench/report/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/report/text.h"
#include "core/error.h"
#include "core/units.h"

namespace feedline {
namespace {

constexpr Nanoseconds kRedraw = 100'000'000;
}  // namespace

std::string progress_text(const Progress& progress, const Goal& goal, std::size_t columns) {
    const auto share = [](auto part, auto whole) {
        return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
    };
    const double of_steps = share(progress.steps, goal.steps);
    const std::string step = "step " + format_count(static_cast<double>(progress.steps));
    std::string of_all;
    if (goal.steps > 0) {
        of_all = fmt::format(" of {} ({})", format_count(static_cast<double>(goal.steps)), format_percent(of_steps));
    }
    std::string rate;
    std::string idle;
    const double seconds = to_seconds(progress.elapsed_ns);
    if (seconds > 0) {
        rate = fmt::format("  {} samples/s", format_per_second(static_cast<double>(progress.samples) / seconds));
        idle = fmt::format("  idle {} so far", format_percent(progress.idle_fraction));
    }
    const double done = std::max(of_steps, share(progress.elapsed_ns, goal.duration_ns));
    std::string left = done >= 1 ? "finishing" : format_left(progress.elapsed_ns, done);
    if (!left.empty()) left.insert(0, "  ");
    // What matters least goes first.
    const auto line = [&] { return fmt::format("{}{}{}{}{}", step, of_all, rate, idle, left); };
    for (std::string* part : {&idle, &rate, &left, &of_all}) {
        if (text_columns(line()) <= columns) break;
        part->clear();
    }
    return line();
}

std::string progress_line(const std::string& what, const std::string& text, std::size_t columns) {
    constexpr std::size_t kLeastWhat = 8;
    const std::size_t taken = text_columns(text) + 2;
    if (taken + std::min(kLeastWhat, text_columns(what)) > columns) return text;
    return shortened_middle(what, columns - taken) + ": " + text;
}

std::string progress_line(const std::string& what, const Progress& progress, const Goal& goal, std::size_t columns) {
    constexpr std::size_t kRoomForBoth = 72;
    constexpr std::size_t kSomeOfIt = 16;
    const std::size_t room = columns >= kRoomForBoth ? std::min(kSomeOfIt, text_columns(what)) + 2 : 0;
    return progress_line(what, progress_text(progress, goal, columns - room), columns);
}

void TerminalProgress::show(const std::string& what, const std::string& text) {
    line_.show(text.empty() ? what : progress_line(what, text, line_.columns()));
}

void TerminalProgress::working(const std::string& what, std::uint64_t done, std::uint64_t total) {
    if (!live_) return;
    const Nanoseconds now = now_ns();
    if (what == last_what_ && now - last_ns_ < kRedraw) return;
    last_what_ = what;
    last_ns_ = now;
    std::string text = done > 0 || total > 0 ? format_count(static_cast<double>(done)) : "";
    if (total > 0) text += " of " + format_count(static_cast<double>(total));
    show(what, text);
}

void TerminalProgress::measuring(const std::string& what, const Progress& progress, const Goal& goal) {
    if (!live_) return;
    line_.show(progress_line(printable(what), progress, goal, line_.columns()));
}

void TerminalProgress::announce(const std::string& line) {
    clear();
    if (quiet_) return;
    tell(out_, fmt::format("feedline: {}\n", printable(line)));
}

void TerminalProgress::finished(const Result& result) {
    clear();
    if (result.status != RunStatus::failed) return;
    tell(out_, fmt::format("feedline: {}: {}\n", printable(result.name), result.error));
}

}  // namespace feedline
