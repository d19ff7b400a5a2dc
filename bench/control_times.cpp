#include "bench/control_times.h"

#include <algorithm>
#include <limits>

namespace feedline {
namespace {

constexpr Nanoseconds kMs = 1'000'000;
// A steady figure rests on at least so many steps after the warm-up, on each accelerator.
constexpr std::uint64_t kLeastSteadySteps = 2;

}  // namespace

ControlBounds control_bounds(Nanoseconds measured_ns, Nanoseconds step_ns, unsigned accelerators,
                             std::uint64_t warmup_steps) {
    const std::uint64_t devices = std::max(1U, accelerators);
    const std::uint64_t warmup = std::max<std::uint64_t>(1, (warmup_steps + devices - 1) / devices);
    const std::uint64_t least = warmup + kLeastSteadySteps;
    // A step that is cut counts for nothing, and the first fill takes its time too: one step more.
    const Nanoseconds least_ns = static_cast<Nanoseconds>(least + 1) * step_ns;
    const auto at_the_step_time = [&](Nanoseconds ns, std::uint64_t enough) {
        const auto fit = static_cast<std::uint64_t>(ns / std::max<Nanoseconds>(step_ns, 1)) * devices;
        return PassBound{std::max(std::min(enough, fit), least * devices), std::max(ns, least_ns)};
    };
    constexpr auto kAsManyAsFit = std::numeric_limits<std::uint64_t>::max();

    const Nanoseconds pass_ns = std::clamp(measured_ns / 2, 500 * kMs, 2000 * kMs);
    const Nanoseconds harness_ns = std::clamp(measured_ns, 2000 * kMs, 5000 * kMs);
    ControlBounds bounds;
    bounds.null_storage_rate = {ControlBounds::kNullStorageSteps, harness_ns};
    bounds.null_storage = at_the_step_time(harness_ns, ControlBounds::kNullStorageSteps);
    // The loader alone gets longer: a throttled tier lets a burst through first, and a verdict hangs on its rate.
    bounds.null_step_ns = std::clamp(measured_ns, 1000 * kMs, 5000 * kMs);
    // Batches fill side by side, so the first may be whole only when the last is: longer than the run itself took.
    bounds.warming_ns = std::clamp(measured_ns + measured_ns / 2, 500 * kMs, 3000 * kMs);
    bounds.warm_rate = {0, pass_ns};
    bounds.warm = at_the_step_time(pass_ns, kAsManyAsFit);
    bounds.serial_without_steps = step_ns == 0 || least_ns > pass_ns;
    bounds.serial = bounds.serial_without_steps ? PassBound{0, pass_ns} : bounds.warm;
    return bounds;
}

Nanoseconds ControlBounds::at_most_ns(Nanoseconds step_ns, Nanoseconds prepare_ns) const {
    Nanoseconds sum = null_storage_rate.duration_ns + warming_ns + warm_rate.duration_ns + serial.duration_ns;
    Nanoseconds times_prepared = 1;
    if (step_ns > 0) {
        sum += null_storage.duration_ns + null_step_ns + warm.duration_ns;
        times_prepared = 2;
    }
    return sum + times_prepared * prepare_ns;
}

}  // namespace feedline
