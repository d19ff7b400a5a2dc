// One line on a terminal that says how a run gets on, rewritten in place; nothing when stderr is no terminal.
#pragma once

#include <cstdio>
#include <limits>
#include <string>

#include "bench/observer.h"
#include "core/clock.h"
#include "core/status_line.h"

namespace feedline {

// "step 1,234 of 5,005 (24.7 %)  20,116 samples/s  idle 12.3 % so far  1 m 20 s left". What is left is told by
// whichever of steps and duration ends first. Where that takes more than `columns`, what matters least is left out.
std::string progress_text(const Progress& progress, const Goal& goal,
                          std::size_t columns = std::numeric_limits<std::size_t>::max());

// "WHAT: TEXT" in at most `columns`: WHAT loses its beginning before TEXT loses its end, and goes where little is left.
std::string progress_line(const std::string& what, const std::string& text, std::size_t columns);
// The same with progress_text(), which makes room for some of `what`.
std::string progress_line(const std::string& what, const Progress& progress, const Goal& goal, std::size_t columns);

class TerminalProgress final : public BenchObserver {
public:
    // `out` is not owned. `live` false: only failures and announcements are printed, each on one line; `quiet`: no
    // announcements either.
    TerminalProgress(std::FILE* out, bool live, bool quiet = false)
        : out_(out), line_(out), live_(live), quiet_(quiet) {}

    void working(const std::string& what, std::uint64_t done, std::uint64_t total) override;
    void measuring(const std::string& what, const Progress& progress, const Goal& goal) override;
    void announce(const std::string& line) override;
    void finished(const Result& result) override;
    // Takes the line away, so that something else can be printed.
    void clear() { line_.clear(); }

private:
    void show(const std::string& what, const std::string& text);

    std::FILE* out_;
    StatusLine line_;
    bool live_;
    bool quiet_;
    Nanoseconds last_ns_ = 0;
    std::string last_what_;
};

}  // namespace feedline
