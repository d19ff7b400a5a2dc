// Where the accelerator's idle time went. Arithmetic on times only: no threads, no clock, no I/O.
//
// For step i: h_i the batch is complete in staging memory, [cs_i, ce_i] its copy, [s_i, e_i] the step. T0 is the first
// open or read of the epoch, T1 the end of its last step. idle = (T1 - T0 - sum(e_i - s_i)) / (T1 - T0). The gap before
// step i runs from e_{i-1} (or T0) to s_i and is cut at h_i and ce_i:
//     before h_i      the loader was late: at each instant shared in proportion to what the batch's outstanding samples
//     were in
//                     (no slot yet: staging; slot but not issued, or reading: read; opening: open; decoding: decode)
//     h_i to ce_i     h2d
//     after ce_i      sync
// What cannot be placed is `other`. The parts sum to the whole.
//
// An epoch that is cut short (a time limit, an interrupt) ends at the cut, less the part of a step under way: its
// samples never count, so its time does not either, and a device's T1 is that step's start. The gap under way is idle,
// by its causes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cuda/device.h"
#include "loaders/batch.h"

namespace feedline {

enum class Cause { open, read, decode, staging, h2d, sync, other };
inline constexpr std::size_t kCauses = 7;
std::string_view to_string(Cause cause);

// Nanoseconds by cause; fractional because instants are shared.
struct Causes {
    std::array<double, kCauses> ns{};
    double& operator[](Cause cause) { return ns[static_cast<std::size_t>(cause)]; }
    double operator[](Cause cause) const { return ns[static_cast<std::size_t>(cause)]; }
    double total() const;
    Causes& operator+=(const Causes& other);
};

// Cuts gaps into causes. An object, because it keeps the memory it sorts in from one gap to the next.
class GapAttribution {
public:
    // The gap [gap_start, step.start_ns) by cause; an empty gap is all zero. `trace` is only looked at where the gap
    // begins before step.ready_ns; its cost is then one pass over it and a sort of the transitions that lie in the gap.
    Causes operator()(Nanoseconds gap_start, const StepTimes& step, Nanoseconds slot_ns,
                      std::span<const RequestTrace> trace);

private:
    // `samples` samples leave one state for another.
    struct Transition {
        Nanoseconds time_ns;
        std::uint32_t samples;
        std::uint8_t from;
        std::uint8_t to;
    };

    void share(Nanoseconds from_ns, Nanoseconds to_ns, std::span<const RequestTrace> trace, Causes& causes);

    std::vector<Transition> transitions_;
};

struct IdleFigures {
    Nanoseconds t0_ns = 0;
    Nanoseconds t1_ns = 0;        // of devices that a cut left in the midst of a step, T0 + their mean span
    Nanoseconds last_end_ns = 0;  // end of the last step that counts, of any device; T0 without one
    std::uint64_t steps = 0;      // of all devices; those that were over
    double busy_ns = 0;           // sum of step lengths; mean over devices
    double idle_ns = 0;           // T1 - T0 - busy; mean over devices
    double unfinished_ns = 0;  // of a step that was cut, the part that had passed; mean over devices. Not in T1 - T0,
                               // but where no device has a step: then there is no rate that it could bend, and it is
                               // busy
    double fraction = 0;       // idle / (T1 - T0); 0 when nothing ran
    // With w = max(1, warm-up steps), over the steps after the first w of each device; means over devices.
    std::optional<double> steady_fraction;     // 1 - sum of step lengths / (e_n - e_w); absent when there are none
    std::optional<double> mlperf_utilization;  // as MLPerf Storage counts AU; absent with fewer than 2 steps
    std::optional<double> drift;  // steps a second in the second half of them / in the first half - 1; absent below 2
    Causes by_cause;              // sums to idle_ns
    Causes steady_by_cause;       // of the steps that steady_fraction counts, and summing to their idle time
    std::uint64_t steady_steps = 0;  // of all devices: those after the first w
    double first_fill_ns = 0;        // T0 to the start of a device's first step; mean over devices
    double end_wait_ns = 0;          // the end of a device's last step to T1, part of `sync`; mean over devices
};

// One device over one epoch. Steps are added in order.
class Timeline {
public:
    explicit Timeline(std::uint64_t warmup_steps) : first_steady_(warmup_steps > 1 ? warmup_steps : 1) {}
    void begin(Nanoseconds t0_ns);
    // The step may neither start before the last one's end nor end before its start: clocks of two devices laid on one
    // timeline can be off by their resolution, and what overlaps is cut off, so that nothing counts twice.
    void add(const StepTimes& step, Nanoseconds slot_ns, std::span<const RequestTrace> trace);
    // The same of a step whose batch lost every sample: there was nothing to be busy with, so its length is idle too,
    // and nothing that a gap is cut into: `other`.
    void add_without_samples(const StepTimes& step, Nanoseconds slot_ns, std::span<const RequestTrace> trace);
    // The epoch is cut at `cut_ns`, at or after the last end, before `next` was over: up to there its gap is idle, and
    // where its step had begun this device's time ends there. Of what had not happened by then any later time will do.
    // The last call before figures().
    void cut(Nanoseconds cut_ns, const StepTimes& next, Nanoseconds slot_ns, std::span<const RequestTrace> trace);
    // Figures so far; cheap, whatever the number of steps. `t1_ns` 0: the end of this device's last step, or where the
    // cut ended its time; else T1 of all devices, the time from the own end to it being `sync`.
    IdleFigures figures(Nanoseconds t1_ns = 0) const;
    Nanoseconds t0_ns() const { return t0_ns_; }
    // Up to where time was accounted for: the end of the last step, T0 before the first, or where the cut ended it.
    Nanoseconds last_end_ns() const { return last_end_ns_; }
    const std::vector<Nanoseconds>& step_ends() const { return ends_; }

private:
    void account(const StepTimes& step, Nanoseconds slot_ns, std::span<const RequestTrace> trace, bool has_samples);

    std::uint64_t first_steady_;  // w
    Nanoseconds t0_ns_ = 0;
    Nanoseconds last_end_ns_ = 0;
    double busy_ns_ = 0;
    double busy_after_first_ns_ = 0;
    double busy_steady_ns_ = 0;
    double first_fill_ns_ = 0;
    Nanoseconds unfinished_ns_ = 0;
    Causes causes_;
    Causes steady_causes_;
    std::vector<Nanoseconds> ends_;
    GapAttribution attribute_;
};

// Means over devices of idle and causes, T1 the last device's, or the cut at `cut_ns` (0: none). All began at the same
// T0. At least one device.
IdleFigures combine(std::span<const Timeline* const> devices, Nanoseconds cut_ns = 0);

}  // namespace feedline
