#include "loaders/webdataset/naming.h"

#include <algorithm>
#include <array>

namespace feedline::webdataset {

std::optional<MemberName> split_name(std::string_view name) {
    if (name.starts_with("__") && name.ends_with("__")) return std::nullopt;
    const std::size_t slash = name.rfind('/');
    const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
    const std::size_t dot = name.find('.', base);
    if (dot == std::string_view::npos || dot == base) return std::nullopt;
    return MemberName{name.substr(0, dot), name.substr(dot + 1)};
}

bool is_annotation(std::string_view extension) {
    constexpr std::array<std::string_view, 8> kAnnotations = {"cls", "cls2", "index", "id",
                                                              "inx", "json", "txt",   "text"};
    return std::find(kAnnotations.begin(), kAnnotations.end(), extension) != kAnnotations.end();
}

}  // namespace feedline::webdataset
