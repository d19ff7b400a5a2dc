// What a person should know of a measured epoch beside its figures, each one sentence: for a result's `notes`.
#pragma once

#include <string>
#include <vector>

#include "bench/options.h"
#include "bench/result.h"

namespace feedline {

// Of the last epoch, which was not interrupted: a --steps or --duration that it did not last for, drift, gaps in which
// this process did not run, samples that were skipped, checksums that were compared with nothing. `options` are those
// in effect. Empty without an epoch.
std::vector<std::string> epoch_notes(const Result& result, const BenchOptions& options);

}  // namespace feedline
