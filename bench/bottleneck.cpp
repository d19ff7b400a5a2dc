#include "bench/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace feedline {
namespace {

constexpr double kHalf = 0.5;  // a control that explains more or less than half of the measured idle
constexpr double kMuchSlower = 0.2;
// A loader that is short of a quarter of the demand or more has used up what it read ahead after so many times the
// slots.
constexpr std::uint64_t kReadAheadLasts = 4;

// What rates are compared with where they decide.
double deciding_rate(const Result& result, const EpochResult& epoch) {
    return result.step_seconds > 0 ? *result.controls.null_step->samples_per_second : epoch.samples_per_second();
}

// Is the run as slow even with this control's help? "As slow" leans to `yes_at_half` exactly at the border. nullopt:
// the control says nothing.
std::optional<bool> explains(const std::optional<ControlFigures>& control, const Result& result,
                             const EpochResult& epoch, bool yes_at_half) {
    if (!control) return std::nullopt;
    if (result.step_seconds > 0 && !judged_by_rate(result, epoch)) {
        if (!control->utilization) return std::nullopt;
        const double theirs = 1 - *control->utilization;
        const double border = kHalf * *epoch.idle.steady_fraction;
        return yes_at_half ? theirs >= border : theirs > border;
    }
    if (!control->samples_per_second) return std::nullopt;
    return *control->samples_per_second < kRateDifference * deciding_rate(result, epoch);
}

// What takes the time where storage costs none.
Bottleneck without_storage(const ControlFigures& null_storage) {
    if (!null_storage.idle_by_cause || null_storage.idle_by_cause->total() <= 0) return Bottleneck::harness;
    switch (largest_cause(*null_storage.idle_by_cause)) {
        case Cause::decode: return Bottleneck::cpu;
        case Cause::h2d: return Bottleneck::h2d;
        default: return Bottleneck::harness;
    }
}

// Memory has less to do than any storage, so a control that is idle for so much more has met something else.
bool contradicts(const ControlFigures& warm, const Result& result, const EpochResult& epoch) {
    if (result.step_seconds <= 0 || judged_by_rate(result, epoch) || !warm.utilization) return false;
    return 1 - *warm.utilization > *epoch.idle.steady_fraction + kMuchSlower;
}

bool copy_is_the_limit(const Result& result, const EpochResult& epoch) {
    if (result.step_seconds <= 0 || judged_by_rate(result, epoch)) {
        if (const auto alone = explains(result.controls.h2d, result, epoch, true)) return *alone;
    }
    return largest_cause(deciding_causes(result, epoch)) == Cause::h2d;
}

}  // namespace

bool reads_ahead_of(const Result& result, const EpochResult& epoch) {
    if (result.step_seconds <= 0 || epoch.idle.steady_fraction.value_or(1) >= kBusyEnough) return false;
    double loader_late_ns = 0;
    for (const Cause cause : {Cause::staging, Cause::open, Cause::read, Cause::decode}) {
        loader_late_ns += epoch.idle.by_cause[cause];
    }
    if (loader_late_ns < kBusyEnough * (epoch.idle.idle_ns + epoch.idle.busy_ns)) return false;
    const auto slots = result.config.is_object() ? result.config.value("slots", std::uint64_t{0}) : 0;
    return epoch.idle.steady_steps / std::max(1U, result.accelerators) <= kReadAheadLasts * slots;
}

double idle_elsewhere_ns(const IdleFigures& idle) {
    return idle.idle_ns - idle.steady_by_cause.total() - idle.end_wait_ns - idle.first_fill_ns;
}

bool stalled_at_the_cut(const Result& result, const EpochResult& epoch) {
    const auto& config = result.config;
    const bool limited = config.is_object() && config.contains("duration") && config["duration"].is_number() &&
                         config["duration"].get<double>() > 0;
    if (!limited && !epoch.partial) return false;
    if (result.step_seconds <= 0 || epoch.idle.steady_fraction.value_or(1) >= kBusyEnough) return false;
    const IdleFigures& idle = epoch.idle;
    const double rest = idle_elsewhere_ns(idle);
    return rest > std::max(idle.first_fill_ns, idle.end_wait_ns) && rest >= kBusyEnough * epoch.seconds * 1e9;
}

bool host_stalled(const EpochResult& epoch) {
    constexpr double kNoticeable = 0.1;
    return epoch.host_stall_seconds > 0 && epoch.host_stall_seconds * 1e9 >= kNoticeable * epoch.idle.idle_ns;
}

std::string host_stall_text(const EpochResult& epoch) {
    if (epoch.host_stall_seconds <= 0) return {};
    const auto time = [](double seconds) { return format_time(std::llround(seconds * 1e9)); };
    return fmt::format("this process did not run for {} of {}: suspended, or starved of CPU",
                       time(epoch.host_stall_seconds), time(epoch.seconds));
}

bool judged_by_rate(const Result& result, const EpochResult& epoch) {
    if (!reads_ahead_of(result, epoch) || !result.accelerators_sustained) return false;
    if (!result.controls.null_step || !result.controls.null_step->samples_per_second) return false;
    return *result.accelerators_sustained * kRateDifference < result.accelerators;
}

Cause largest_cause(const Causes& causes) {
    return static_cast<Cause>(std::max_element(causes.ns.begin(), causes.ns.end()) - causes.ns.begin());
}

const Causes& deciding_causes(const Result& result, const EpochResult& epoch) {
    const bool steady =
        result.step_seconds > 0 && epoch.idle.steady_fraction.value_or(0) > 0 && !reads_ahead_of(result, epoch);
    return steady ? epoch.idle.steady_by_cause : epoch.idle.by_cause;
}

Bottleneck find_bottleneck(const Result& result) {
    const EpochResult* epoch = result.last_epoch();
    if (epoch == nullptr || epoch->steps == 0 || result.status == RunStatus::failed) return Bottleneck::unknown;
    if (epoch->lacks_samples()) return Bottleneck::unknown;
    if (result.step_seconds > 0) {
        if (!epoch->idle.steady_fraction) return Bottleneck::unknown;
        if (stalled_at_the_cut(result, *epoch)) return Bottleneck::unknown;
        if (reads_ahead_of(result, *epoch) && !result.accelerators_sustained) return Bottleneck::unknown;
        if (*epoch->idle.steady_fraction < kBusyEnough && !judged_by_rate(result, *epoch)) {
            return Bottleneck::accelerator;
        }
    }
    if (host_stalled(*epoch)) return Bottleneck::unknown;
    const std::optional<bool> as_slow_without_storage = explains(result.controls.null_storage, result, *epoch, false);
    if (!as_slow_without_storage) return Bottleneck::unknown;
    if (*as_slow_without_storage) return without_storage(*result.controls.null_storage);
    if (copy_is_the_limit(result, *epoch)) return Bottleneck::h2d;
    // What was read from memory says nothing about storage, whatever a control says.
    if (epoch->cache.verdict == "warm") return Bottleneck::cpu;
    const std::optional<bool> as_slow_from_memory = explains(result.controls.warm, result, *epoch, true);
    if (!as_slow_from_memory || contradicts(*result.controls.warm, result, *epoch)) return Bottleneck::unknown;
    return *as_slow_from_memory ? Bottleneck::cpu : Bottleneck::storage;
}

std::optional<double> steady_noise(const Result& result, const EpochResult& epoch) {
    constexpr std::uint64_t kLeast = 3;
    const std::size_t steady = epoch.idle.steady_steps;
    if (!epoch.idle.steady_fraction || result.step_ns.size() != epoch.steps || steady < kLeast ||
        steady > epoch.steps) {
        return std::nullopt;
    }
    double sum = 0;
    double squares = 0;
    for (auto step = result.step_ns.end() - static_cast<std::ptrdiff_t>(steady); step != result.step_ns.end(); ++step) {
        const auto length_ns = static_cast<double>(*step);
        sum += length_ns;
        squares += length_ns * length_ns;
    }
    const auto count = static_cast<double>(steady);
    const double mean = sum / count;
    if (mean <= 0) return std::nullopt;
    const double variance = std::max(0.0, (squares - count * mean * mean) / (count - 1));
    // idle = 1 - step / mean, so an error of the mean by a share is one of (1 - idle) by that share.
    return 2 * (1 - *epoch.idle.steady_fraction) * std::sqrt(variance / count) / mean;
}

std::optional<double> accelerators_sustained(const Result& result) {
    const std::optional<ControlFigures>& null_step = result.controls.null_step;
    const EpochResult* last = result.last_epoch();
    if (last == nullptr || result.step_seconds <= 0 || result.batch_size == 0) return std::nullopt;
    // What was left out was not fed either.
    if (last->lacks_samples()) return std::nullopt;
    if (!null_step || !null_step->samples_per_second || null_step->other_cache) return std::nullopt;
    double most = *null_step->samples_per_second;
    for (const std::vector<EpochResult>& round : result.rounds) {
        for (const EpochResult& epoch : round) {
            if (epoch.cache.verdict == last->cache.verdict) most = std::max(most, epoch.samples_per_second());
        }
    }
    return most * result.step_seconds / static_cast<double>(result.batch_size);
}

unsigned accelerators_with_margin(double accelerators_sustained) {
    const double most = std::floor(accelerators_sustained / kRateDifference);
    return most < 1 ? 0 : static_cast<unsigned>(std::min(most, 1e9));
}

}  // namespace feedline
