// What a file's name ends with.
#pragma once

#include <string_view>

namespace feedline {

// ".jpg" of "a/b.c.jpg"; empty where the last component has no dot, or only one at its beginning.
constexpr std::string_view path_suffix(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot);
}

}  // namespace feedline
