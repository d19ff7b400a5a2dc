#include "bench/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace feedline {
namespace {

constexpr double kBusyEnough = 0.02;     // idle below this: the accelerator itself is the limit
constexpr double kHalf = 0.5;            // a control that explains more or less than half of the measured idle
constexpr double kRateDifference = 1.1;  // rates closer than this factor count as the same

Cause largest_cause(const IdleFigures& idle) {
    const auto& ns = idle.by_cause.ns;
    return static_cast<Cause>(std::max_element(ns.begin(), ns.end()) - ns.begin());
}

// Is `control` about as slow as the measured run? nullopt: the control is missing.
std::optional<bool> explains(const std::optional<ControlFigures>& control, const Result& result,
                             const EpochResult& epoch) {
    if (!control) return std::nullopt;
    if (result.step_seconds > 0) {
        if (!control->utilization) return std::nullopt;
        return 1 - *control->utilization > kHalf * epoch.idle.fraction;
    }
    if (!control->samples_per_second) return std::nullopt;
    return *control->samples_per_second < kRateDifference * epoch.samples_per_second();
}

std::string cause_share(const EpochResult& epoch, Cause cause) {
    const double share = epoch.idle.idle_ns > 0 ? epoch.idle.by_cause[cause] / epoch.idle.idle_ns : 0;
    return format_percent(share);
}

std::string rate(double samples_per_second) {
    return format_per_second(samples_per_second) + " samples/s";
}

// "idle 34.5 % of the time", or at step time 0 "20,000 samples/s".
std::string measured(const Result& result, const EpochResult& epoch) {
    if (result.step_seconds > 0) return "idle " + format_percent(epoch.idle.fraction);
    return rate(epoch.samples_per_second());
}

std::string control_figure(const Result& result, const std::optional<ControlFigures>& control) {
    if (!control) return "not measured";
    if (result.step_seconds > 0) {
        return control->utilization ? "idle " + format_percent(1 - *control->utilization) : "not measured";
    }
    return control->samples_per_second ? rate(*control->samples_per_second) : "not measured";
}

// What to try when storage is slow depends on where its time goes.
std::string storage_advice(const Result& result, const EpochResult& epoch) {
    const double opening = epoch.idle.by_cause[Cause::open];
    const double reading = epoch.idle.by_cause[Cause::read];
    const double mean_bytes =
        epoch.samples > 0 ? static_cast<double>(epoch.bytes) / static_cast<double>(epoch.samples) : 0;
    constexpr double kRequestBoundBytes = 1 << 20;
    if (epoch.device_reads && epoch.samples > 0 && mean_bytes < kRequestBoundBytes) {
        const double reads = static_cast<double>(*epoch.device_reads) / static_cast<double>(epoch.samples);
        if (reads >= kHalf) {
            return fmt::format(
                "each sample of {} costs {:.2f} device reads, so pack the small files into shards, or use a tier with "
                "more requests a second",
                format_size(mean_bytes), reads);
        }
    }
    if (opening > reading) return "most of it is opening files: pack them into shards, so that fewer are opened";
    if (result.config.contains("queue_depth") && result.config["queue_depth"].is_number()) {
        return fmt::format("raise --queue-depth (now {}); if that changes nothing, use a faster tier",
                           result.config["queue_depth"].get<std::uint64_t>());
    }
    return "raise --queue-depth; if that changes nothing, use a faster tier";
}

}  // namespace

Bottleneck find_bottleneck(const Result& result) {
    const EpochResult* epoch = result.last_epoch();
    if (epoch == nullptr || epoch->steps == 0 || result.status == RunStatus::failed) return Bottleneck::unknown;
    if (result.step_seconds > 0 && epoch->idle.fraction < kBusyEnough) return Bottleneck::accelerator;
    const std::optional<bool> harness = explains(result.controls.null_storage, result, *epoch);
    if (!harness) return Bottleneck::unknown;
    if (*harness) return Bottleneck::harness;
    if (largest_cause(epoch->idle) == Cause::h2d) return Bottleneck::h2d;
    const std::optional<bool> warm_is_as_slow = explains(result.controls.warm, result, *epoch);
    if (!warm_is_as_slow) return Bottleneck::unknown;
    return *warm_is_as_slow ? Bottleneck::cpu : Bottleneck::storage;
}

std::string explain(const Result& result) {
    const EpochResult* epoch = result.last_epoch();
    if (epoch == nullptr) return "Nothing was measured.";
    const std::string here = measured(result, *epoch);
    switch (result.bottleneck) {
        case Bottleneck::accelerator: {
            std::string text = fmt::format("The accelerator is the limit ({}): this tier keeps up.", here);
            if (result.accelerators_sustained && *result.accelerators_sustained >= result.accelerators + 1) {
                text += fmt::format(" It would feed {:.1f} of them: try --accelerators {:.0f}.",
                                    *result.accelerators_sustained, std::floor(*result.accelerators_sustained));
            } else {
                text += " Nothing to do here; a faster accelerator would need a new measurement.";
            }
            return text;
        }
        case Bottleneck::storage:
            return fmt::format("Storage is the limit: {} here, {} from memory. Next: {}.", here,
                               control_figure(result, result.controls.warm), storage_advice(result, *epoch));
        case Bottleneck::cpu: {
            const bool decoding = largest_cause(epoch->idle) == Cause::decode;
            return fmt::format(
                "The CPU is the limit: {} here, {} from memory, so faster storage would not help. Next: {}.", here,
                control_figure(result, result.controls.warm),
                decoding ? fmt::format("decoding is {} of the idle time; give it more cores or decode on "
                                       "the accelerator",
                                       cause_share(*epoch, Cause::decode))
                         : fmt::format("more --threads if cores are free, or larger records{}",
                                       result.engine == "uring" ? "" : ", or --engine uring"));
        }
        case Bottleneck::h2d:
            return fmt::format(
                "The copy to the accelerator is the limit: {}, {} of the idle time. Next: a smaller batch "
                "in bytes (smaller or packed records), or a wider link.",
                here, cause_share(*epoch, Cause::h2d));
        case Bottleneck::harness:
            return fmt::format(
                "The measuring program is the limit, not the storage: {} here, {} with storage that costs "
                "nothing. Next: larger batches or more cores; take these figures as a lower bound.",
                here, control_figure(result, result.controls.null_storage));
        case Bottleneck::unknown: break;
    }
    if (result.status == RunStatus::partial) {
        return fmt::format("Interrupted: {} so far, most of it in {}. Next: let it run to the end for a verdict.", here,
                           to_string(largest_cause(epoch->idle)));
    }
    return fmt::format("{}, most of it in {}. Next: run with --controls to tell storage from CPU.",
                       result.step_seconds > 0 ? "The accelerator is " + here : "It loads " + here,
                       to_string(largest_cause(epoch->idle)));
}

}  // namespace feedline
