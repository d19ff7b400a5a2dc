// A whole `feedline bench`: every dataset with every engine, measured epochs, then controls.
#pragma once

#include <optional>
#include <string>

#include "bench/check.h"
#include "bench/observer.h"
#include "bench/options.h"
#include "bench/result.h"
#include "core/interrupt.h"

namespace feedline {

struct BenchOutcome {
    ResultFile file;
    bool interrupted = false;
    std::optional<ErrorKind> failure;  // of the first combination that failed
    bool stuck = false;                // a thread hangs in the kernel: leave the process without waiting for it
};

// `options` passed check_options(). Opens every dataset and refuses what cannot be run before anything is measured:
// throws Error{usage, io, ...} then. Later failures are recorded in their result and the rest goes on. Interrupted, it
// returns what there is.
BenchOutcome run_bench(const BenchOptions& options, const Capabilities& machine, Context context,
                       BenchObserver& observer, const Interrupt& interrupt);

// Exit code by the contract: 130, else 5 (or the failure's own), else 4 when nothing was measured, else 1 when a
// requirement was missed, else 4 when one could not be judged, else 0.
int exit_code(const BenchOutcome& outcome);

}  // namespace feedline
