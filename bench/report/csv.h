// One line an epoch, for spreadsheets and scripts; names carry their unit.
#pragma once

#include <string>

#include "bench/result.h"

namespace feedline {

std::string render_csv(const ResultFile& file);

}  // namespace feedline
