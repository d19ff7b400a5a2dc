// One line an epoch, for spreadsheets and plots: what was measured, by which settings, and the figures. Names carry
// their unit; what could not be seen is an empty field. A result of which nothing was measured has one line, with its
// status and error and no figures.
#pragma once

#include <string>

#include "bench/result.h"

namespace feedline {

std::string render_csv(const ResultFile& file);

}  // namespace feedline
