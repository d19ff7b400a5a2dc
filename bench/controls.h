// The controls: what the run reaches without one of its parts, so that a person can tell whose fault the idle time is.
//
// Each is bounded in time (control_times.h) and memory; a note says where the bound cut it. In each, utilization is the
// steady one at the run's step time, and samples_per_second the rate at step time 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/result.h"
#include "bench/workbench.h"

namespace feedline {

// The null-storage controls of a sweep so far. That control depends on the options, on the sizes of the samples and on
// how they lie in the slab, and not on where they are stored: what ran once is not run again. Not thread-safe.
class NullStorageMemory {
public:
    // With a note that names the result it was measured for.
    std::optional<ControlFigures> find(const std::string& inputs) const;
    void keep(const std::string& inputs, const std::string& name, const ControlFigures& figures);

private:
    struct Known {
        std::string name;
        ControlFigures figures;
    };
    std::map<std::string, Known> known_;
};

// Depends on the lengths of all samples in the dataset's order, and on nothing else.
std::uint64_t sizes_digest(const Dataset& dataset);

// Fills result.controls and result.accelerators_sustained from the last epoch and further runs, after announcing how
// long that takes. A control that fails leaves its note. `memory` may be null. Throws Error{interrupted}, with what was
// measured until then in `result`.
void measure_controls(Workbench& bench, Result& result, NullStorageMemory* memory);

// Those that are not there, as they are called in the JSON: "controls.warm".
std::vector<std::string> missing_controls(const Controls& controls);

}  // namespace feedline
