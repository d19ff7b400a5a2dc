// `--require 'idle.fraction<=5%'`: turns a run into a check.
//
// The left side is a dotted path into an entry of `epochs` or into a result, as the JSON names them; it must hold for
// every result and, where the path leads into epochs, for every epoch of every round.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/options.h"
#include "bench/result.h"

namespace feedline {

struct Requirement {
    enum class Comparison { less_equal, greater_equal, less, greater, equal };
    std::string text;  // as given
    std::string path;
    Comparison comparison = Comparison::less_equal;
    std::string value;   // a number, with a unit where the figure has one, or for == also a word: cache.verdict==cold
    std::string reason;  // why it is there, where nobody typed it; else empty
};

// Throws Error{usage}: no comparison, no such figure in the schema (with those that come near), not a number where one
// is needed, a unit of another kind than the figure's.
Requirement parse_requirement(std::string_view text);

// All that were asked for. Who asks for a cold cache and for a check asks that the run be cold, so that is added,
// unless what the verdict must be is among the requirements: a run that was not cold never passes unnoticed. Empty
// without
// --require. Throws Error{usage}.
std::vector<Requirement> requirements_of(const BenchOptions& options);

// One line for each epoch that misses it, or for the result: what was required, what was found, and where. A figure
// that could not be seen misses every requirement, and so does every figure of an epoch in which no step was over.
std::vector<std::string> missed(const Requirement& requirement, const Result& result);

// The same of epochs that lack samples (EpochResult::lacks_samples()), of which missed() tells only what is about the
// samples themselves: their times are not those of the dataset, so whether the requirement holds cannot be judged.
std::vector<std::string> unjudged(const Requirement& requirement, const Result& result);

// Fills every result's missed_requirements and unjudged_requirements by requirements_of(options).
void judge_requirements(const BenchOptions& options, std::vector<Result>& results);

}  // namespace feedline
