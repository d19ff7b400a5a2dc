// `--require 'idle.fraction<=0.05'`: turns a run into a check.
//
// The left side is a dotted path into an entry of `epochs` or into a result, as the JSON names them; it must hold for
// every result and, where the path leads into epochs, for every epoch of every round.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/result.h"

namespace feedline {

struct Requirement {
    enum class Comparison { less_equal, greater_equal, less, greater, equal };
    std::string text;  // as given
    std::string path;
    Comparison comparison = Comparison::less_equal;
    std::string value;  // a number, or for == also a word: cache.verdict==cold
};

// Throws Error{usage}: no comparison, no such figure in the schema, not a number where one is needed.
Requirement parse_requirement(std::string_view text);

// One line for each result and epoch that misses it: which, and by how much. A figure that could not be seen misses
// every requirement.
std::vector<std::string> missed(const Requirement& requirement, const std::vector<Result>& results);

}  // namespace feedline
