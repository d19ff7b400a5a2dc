// One line on a terminal that is written again and again.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace feedline {

// Writes `text` for a person. That nobody can read it (a terminal that is gone, a closed pipe) is no failure: what is
// said beside a result must never cost the result.
void tell(std::FILE* out, const std::string& text);

// Columns of the terminal behind `out`; 0 when it is none or does not tell.
std::size_t terminal_columns(std::FILE* out);

// Columns that UTF-8 `text` takes: code points, which is right for what printable() lets through but for wide and
// combining characters.
std::size_t text_columns(std::string_view text);

// Uses carriage returns and spaces and no escape sequence, so any terminal shows it right. Not thread-safe.
class StatusLine {
public:
    explicit StatusLine(std::FILE* out) : out_(out) {}  // not owned
    ~StatusLine() { clear(); }
    StatusLine(const StatusLine&) = delete;
    StatusLine& operator=(const StatusLine&) = delete;

    // `out` is a terminal on which a line can be rewritten: TERM is set and not "dumb".
    static bool possible(std::FILE* out);

    std::size_t columns() const;         // that a line may have now
    void show(const std::string& line);  // cut to columns()
    void clear();                        // takes the line away, so that something else can be printed

private:
    std::FILE* out_;
    std::size_t shown_columns_ = 0;
};

}  // namespace feedline
