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
inline constexpr std::size_t kLeastTableColumns = 60;

// For a terminal of so many columns; 0: none, or it does not tell.
std::size_t table_columns(std::size_t terminal_columns);

// At most `columns` wide, but for names and paths, which are not cut. Where the table does not fit, columns that can be
// read further down are left out, then the tier's name is cut.
std::string render_table(const ResultFile& file, std::size_t columns = kMostTableColumns);

// "best on disk: uring, 1,770 samples/s, 12.0 % more than pread": one line for each tier that was measured in more than
// one way. It says so where they are too close to call (within 2 %, or rounds that overlap), were measured once only,
// or not under the same state of the cache.
std::vector<std::string> best_lines(const std::vector<Result>& results);

// "classes: 1,000: 0 = n01440764, 1 = n01443537, 2 = n01484850, ..."; empty without labels.
std::string class_map_line(const DatasetInfo& dataset);

// What stands where a result did not come out as asked for, most important first: a cold run that was not cold begins.
std::string headline_warning(const Result& result);

}  // namespace feedline
