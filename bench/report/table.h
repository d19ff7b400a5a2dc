// Results as a person reads them in a terminal: a table of one line a result, then for each result where its idle time
// went, what is worth knowing, and one sentence on the bottleneck. At most 100 columns; every figure has its unit.
#pragma once

#include <string>

#include "bench/result.h"

namespace feedline {

inline constexpr std::size_t kTableColumns = 100;

std::string render_table(const ResultFile& file);

// "classes: 1,000: 0 = n01440764, 1 = n01443537, 2 = n01484850, ..."; empty without labels.
std::string class_map_line(const DatasetInfo& dataset);

// What stands where a result did not come out as asked for, most important first: a cold run that was not cold begins.
std::string headline_warning(const Result& result);

}  // namespace feedline
