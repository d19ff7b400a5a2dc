// Where and by what a result was measured.
#pragma once

#include <string>

#include "bench/result.h"

namespace feedline {

// `command`: as typed. Never throws for what the system does not tell; such a field says "unknown" or 0.
Context make_context(const std::string& command);

}  // namespace feedline
