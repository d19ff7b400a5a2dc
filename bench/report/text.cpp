#include "bench/report/text.h"

#include "core/status_line.h"

namespace feedline {

std::string shortened(const std::string& text, std::size_t width) {
    if (text_columns(text) <= width) return text;
    std::string out;
    std::size_t taken = 0;
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U && ++taken > width - 2) break;
        out += c;
    }
    return out + "..";
}

std::string shortened_middle(const std::string& text, std::size_t width) {
    const std::size_t columns = text_columns(text);
    if (columns <= width) return text;
    const std::size_t tail_begins = columns - (width - 2) / 2;
    const std::size_t head = width - 2 - (width - 2) / 2;
    std::string out;
    std::size_t column = 0;
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U && ++column == head + 1) out += "..";
        if (column <= head || column > tail_begins) out += c;
    }
    return out;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
    const std::size_t used = text_columns(text);
    const std::string space(width > used ? width - used : 0, ' ');
    return right ? space + text : text + space;
}

std::string wrapped(std::string_view first, std::string_view text, std::size_t width) {
    constexpr std::size_t kLeastRoom = 24;
    constexpr std::size_t kBelow = 6;
    std::string out(first);
    std::string indent(text_columns(first), ' ');
    if (indent.size() + kLeastRoom > width && text_columns(text) + indent.size() > width) {
        out.erase(out.find_last_not_of(' ') + 1);
        indent.assign(kBelow, ' ');
        out += "\n" + indent;
    }
    std::size_t at = indent.size();
    bool begins = true;
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        const std::string_view word = text.substr(0, space);
        if (!begins && at + 1 + text_columns(word) > width) {
            out += "\n" + indent;
            at = indent.size();
            begins = true;
        }
        if (!begins) {
            out += ' ';
            ++at;
        }
        out += word;
        at += text_columns(word);
        begins = false;
        if (space == std::string_view::npos) break;
        text.remove_prefix(space + 1);
    }
    return out + "\n";
}

}  // namespace feedline
