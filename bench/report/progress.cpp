#include "bench/report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/units.h"

namespace feedline {
namespace {

constexpr Nanoseconds kRedraw = 100'000'000;
constexpr std::size_t kUsualColumns = 80;

std::size_t terminal_columns(std::FILE* out) {
    winsize size{};
    const bool known = ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : kUsualColumns;
}

}  // namespace

std::string progress_text(const Progress& progress, std::uint64_t steps) {
    std::string text = "step " + format_count(static_cast<double>(progress.steps));
    const double done = steps > 0 ? static_cast<double>(progress.steps) / static_cast<double>(steps) : 0;
    if (steps > 0) text += fmt::format(" of {} ({})", format_count(static_cast<double>(steps)), format_percent(done));
    const double seconds = to_seconds(progress.elapsed_ns);
    if (seconds > 0) {
        text += fmt::format("  {} samples/s  idle {} so far",
                            format_per_second(static_cast<double>(progress.samples) / seconds),
                            format_percent(progress.idle_fraction));
    }
    if (done > 0) {
        text += fmt::format("  {} left",
                            format_time(std::llround(static_cast<double>(progress.elapsed_ns) * (1 - done) / done)));
    }
    return text;
}

void TerminalProgress::show(const std::string& line) {
    // One column is left free: a full line would wrap on some terminals.
    const std::size_t columns = terminal_columns(out_) - 1;
    fmt::print(out_, "\r\x1b[K{}", std::string_view(line).substr(0, columns));
    std::fflush(out_);
    shown_ = true;
}

void TerminalProgress::clear() {
    if (!shown_) return;
    fmt::print(out_, "\r\x1b[K");
    std::fflush(out_);
    shown_ = false;
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
    show(line);
}

void TerminalProgress::measuring(const std::string& what, const Progress& progress, std::uint64_t steps) {
    if (!live_) return;
    show(printable(what) + ": " + progress_text(progress, steps));
}

void TerminalProgress::finished(const Result& result) {
    clear();
    if (result.status != RunStatus::failed) return;
    fmt::print(out_, "feedline: {}: {}\n", printable(result.name), result.error);
    std::fflush(out_);
}

}  // namespace feedline
