// What somebody may have meant by a name that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace feedline {

// At most three of `known`, the likeliest first: those that a few typing mistakes away spell `wanted`, and those of
// which `wanted` is a part between dots or dashes. Empty when nothing comes near. Thread-safe.
std::vector<std::string> similar_names(std::string_view wanted, const std::vector<std::string>& known);

// "; did you mean a, b or c?", or "" when nothing comes near.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known);

}  // namespace feedline
