// What holds the accelerator up, from the measured epoch and the controls. Pure functions.
//
// A control's utilization is a steady one, so it is compared with the measured epoch's steady idle, never with the
// headline figure, which counts the first fill.
#pragma once

#include <optional>
#include <string>

#include "bench/result.h"

namespace feedline {

inline constexpr double kBusyEnough = 0.02;     // idle below this: the accelerator itself is the limit
inline constexpr double kRateDifference = 1.1;  // rates closer than this factor count as the same
inline constexpr std::uint64_t kFewSteps = 20;  // steady steps an accelerator; a run with fewer is called short

// From the last epoch and the controls. With a step time, `idle` being the steady one:
//     accelerator   idle is below 2 %
//     cpu, h2d      the null-storage idle is over half of it, and most of that is decoding, or copying
//     harness       the null-storage idle is over half of it, whatever else that is
//     h2d           most of the measured idle is copying
//     storage       the warm idle is below half of it, and the run itself was not from memory
//     cpu           else
// At step time 0 rates take the place of idle, and a factor of 1.1 counts as a difference; h2d is told by its own
// control, and there is no accelerator. Without a step after the warm-up (and after the first) there is no verdict, nor
// where samples are missing (EpochResult::lacks_samples()).
// A run that is not much longer than what is read ahead can show an idle of 0 that no longer one would
// (reads_ahead_of()): it counts as the accelerator's only if the loader's rate without steps meets the demand, and is
// else judged by that rate. Unknown when the control that decides is missing
// or was itself much slower than the run, when a run was stalled as it was cut (stalled_at_the_cut()), and when the
// whole process did not run for a while (host_stalled()).
Bottleneck find_bottleneck(const Result& result);

// Whether the steady idle is below 2 % in a run so short that what was read ahead before its first step can be why,
// though over the whole of it the loader kept the accelerator idle for more.
bool reads_ahead_of(const Result& result, const EpochResult& epoch);
// Idle time, in nanoseconds, outside of the steady state, the first fill and the wait at the end: in warm-up steps, or
// in a gap that the end of the run cut.
double idle_elsewhere_ns(const IdleFigures& idle);
// Whether a run that was cut stood idle for 2 % of its time or more outside of its steady state, first fill and end:
// waiting for a step when the cut came, which no steady figure holds.
bool stalled_at_the_cut(const Result& result, const EpochResult& epoch);
// Whether this process did not run at all for a tenth of the epoch's idle time or more: how much of that is storage's
// nobody can tell.
bool host_stalled(const EpochResult& epoch);
// "this process did not run for 1.0 s of 1.4 s: suspended, or starved of CPU". Empty without a gap.
std::string host_stall_text(const EpochResult& epoch);
// Whether the verdict rests on the loader's rate without steps: such a run, with a rate below the demand.
bool judged_by_rate(const Result& result, const EpochResult& epoch);

// The cause with the largest share of what the verdict rests on: the steady idle, or at step time 0, or when there is
// no steady figure, of the whole idle time.
const Causes& deciding_causes(const Result& result, const EpochResult& epoch);
Cause largest_cause(const Causes& causes);

// By how much the steady idle of the last epoch may be off: twice the standard error of the mean step-to-step time,
// as a fraction. Absent where the steps are too few or not recorded.
std::optional<double> steady_noise(const Result& result, const EpochResult& epoch);

// How many of the workload's accelerators the loader keeps busy: its rate without steps over what one of them asks for,
// and at least what the run itself reached in any epoch under the same state of the cache, for what was seen can be
// had. Absent at step time 0, without that rate, where samples are missing, and where that control met another cache
// than the run.
std::optional<double> accelerators_sustained(const Result& result);

// The most accelerators whose demand stays below the rate by the factor that counts as a difference.
unsigned accelerators_with_margin(double accelerators_sustained);

}  // namespace feedline
