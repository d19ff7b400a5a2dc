// The controls: what the run reaches without one of its parts, so that a person can tell whose fault the idle time is.
//
// Each is bounded in time and memory; a note says where the bound cut it. In each, utilization is the steady one at the
// run's step time, and samples_per_second the rate at step time 0.
#pragma once

#include "bench/result.h"
#include "bench/workbench.h"

namespace feedline {

// Fills result.controls and result.accelerators_sustained from the last epoch and further runs. A control that fails
// leaves its note. Throws Error{interrupted}.
void measure_controls(Workbench& bench, Result& result);

}  // namespace feedline
