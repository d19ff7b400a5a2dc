#include "loaders/webdataset/naming.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace feedline::webdataset {

std::optional<MemberName> split_name(std::string_view name) {
    if (name.starts_with("__") && name.ends_with("__")) return std::nullopt;
    const std::size_t slash = name.rfind('/');
    const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
    const std::size_t dot = name.find('.', base);
    if (dot == std::string_view::npos || dot == base) return std::nullopt;
    return MemberName{name.substr(0, dot), name.substr(dot + 1)};
}

namespace {

// What our writer escapes: no others are taken for escapes.
std::optional<char> escaped(std::string_view text) {
    if (text.size() < 3 || text[0] != '%') return std::nullopt;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 3, value, 16);
    const bool upper = std::none_of(text.begin() + 1, text.begin() + 3, [](char c) { return c >= 'a' && c <= 'f'; });
    if (error != std::errc() || end != text.data() + 3 || !upper) return std::nullopt;
    if (value > ' ' && value < 0x7f && value != '.' && value != '%') return std::nullopt;
    return static_cast<char>(value);
}

}  // namespace

std::string path_in(const MemberName& name) {
    std::string path;
    for (std::string_view rest = name.key; !rest.empty();) {
        std::size_t taken = 1;
        char c = rest.front();
        if (c == '%') {
            const std::optional<char> meant = escaped(rest);
            if (!meant) {  // not by us: as it is
                path = name.key;
                break;
            }
            c = *meant;
            taken = 3;
        }
        path += c;
        rest.remove_prefix(taken);
    }
    const std::string ending = "." + std::string(name.extension);
    const bool there = path.size() != name.key.size() && path.ends_with(ending);
    return there ? path : path + ending;
}

bool is_annotation(std::string_view extension) {
    constexpr std::array<std::string_view, 10> kAnnotations = {"labels.json", "label.txt", "cls",  "cls2", "index",
                                                               "id",          "inx",       "json", "txt",  "text"};
    return std::find(kAnnotations.begin(), kAnnotations.end(), extension) != kAnnotations.end();
}

}  // namespace feedline::webdataset
