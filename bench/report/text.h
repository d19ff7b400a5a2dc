// Text in columns, for terminals. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedline {

// At most `width` columns, at least 2; what is cut off at the end is marked by two dots.
std::string shortened(const std::string& text, std::size_t width);
// The same, cut out of its middle: beginning and end stay.
std::string shortened_middle(const std::string& text, std::size_t width);

// Filled with spaces to `width` columns, before it (`right`) or after it.
std::string padded(const std::string& text, std::size_t width, bool right);

// Words of `text` on lines of at most `width` columns (a longer word has a line of its own), with a newline at the end.
// They begin behind `first` and stand below its end; where that leaves no room, on lines of their own below it.
std::string wrapped(std::string_view first, std::string_view text, std::size_t width);

}  // namespace feedline
