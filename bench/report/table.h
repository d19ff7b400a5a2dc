// Results as a person reads them in a terminal: a table of one line a result, which engine was the best of each tier,
// then for each result where its idle time went, what is worth knowing, and one sentence on the bottleneck. Every
// figure has its unit. No escape sequences.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/result.h"

namespace feedline {

inline constexpr std::size_t kMostTableColumns = 100;  // wider than that, lines are hard to follow
inline constexpr std::size_t kLeastTableColumns = 40;

// For a terminal of so many columns; 0: none, or it does not tell.
std::size_t table_columns(std::size_t terminal_columns);

// At most `columns` wide, but for names and paths, which are not cut. Where the table does not fit, columns that can be
// read further down are left out, then the tier's name is cut. Words are explained where they stand in it.
std::string render_table(const ResultFile& file, std::size_t columns = kMostTableColumns);

// "classes: 1,000: 0 = n01440764, 1 = n01443537, 2 = n01484850, ..."; empty without labels.
std::string class_map_line(const DatasetInfo& dataset);

// What stands where a result did not come out as asked for, most important first: a cold run that was not cold begins.
std::string headline_warning(const Result& result);

}  // namespace feedline
