#include "core/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace feedline {
namespace {

bool begins_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

std::string cut(const std::string& line, std::size_t columns) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (begins_character(line[i]) && ++taken > columns) return line.substr(0, i);
    }
    return line;
}

}  // namespace

void tell(std::FILE* out, const std::string& text) {
    std::fputs(text.c_str(), out);
    std::fflush(out);
}

std::size_t text_columns(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::size_t terminal_columns(std::FILE* out) {
    winsize size{};
    return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool StatusLine::possible(std::FILE* out) {
    const char* term = std::getenv("TERM");
    return ::isatty(::fileno(out)) == 1 && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

std::size_t StatusLine::columns() const {
    constexpr std::size_t kUsualColumns = 80;
    const std::size_t known = terminal_columns(out_);
    // One column is left free: a full line would wrap on some terminals.
    return (known > 0 ? known : kUsualColumns) - 1;
}

void StatusLine::show(const std::string& line) {
    const std::string text = cut(line, columns());
    const std::size_t columns = text_columns(text);
    const std::string over(shown_columns_ > columns ? shown_columns_ - columns : 0, ' ');
    tell(out_, "\r" + text + over);
    shown_columns_ = columns;
}

void StatusLine::clear() {
    if (shown_columns_ == 0) return;
    tell(out_, "\r" + std::string(shown_columns_, ' ') + "\r");
    shown_columns_ = 0;
}

}  // namespace feedline
