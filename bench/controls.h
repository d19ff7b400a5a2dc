// The controls: what the run reaches without one of its parts, so that a person can tell whose fault the idle time is.
//
// Each is bounded in time (control_times.h) and memory; a note says where the bound cut it. In each, utilization is the
// steady one at the run's step time, and samples_per_second the rate at step time 0.
#pragma once

#include <string>
#include <vector>

#include "bench/null_storage_memory.h"
#include "bench/result.h"
#include "bench/workbench.h"

namespace feedline {

// Fills result.controls and result.accelerators_sustained from the last epoch and further runs, after announcing how
// long that takes. A control that fails leaves its note. `memory` may be null. Throws Error{interrupted}, with what was
// measured until then in `result`.
void measure_controls(Workbench& bench, Result& result, NullStorageMemory* memory);

// Those that are not there, as they are called in the JSON: "controls.warm".
std::vector<std::string> missing_controls(const Controls& controls);

}  // namespace feedline
