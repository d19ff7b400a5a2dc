#include "bench/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "bench/bottleneck.h"
#include "core/error.h"
#include "core/presets.h"
#include "core/units.h"

namespace feedline {
namespace {

bool from_memory(const EpochResult& epoch) {
    return epoch.cache.verdict == "warm";
}

bool asked_for_cold(const Result& result) {
    return result.config.is_object() && result.config.value("cache", "") == "cold";
}

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

std::string share_of(const Causes& causes, Cause cause) {
    return format_percent(share(causes[cause], causes.total()));
}

std::string rate(double samples_per_second) {
    return format_per_second(samples_per_second) + " samples/s";
}

// "steady idle 34.5 %", or at step time 0 "20,000 samples/s".
std::string measured(const Result& result, const EpochResult& epoch) {
    if (result.step_seconds <= 0) return rate(epoch.samples_per_second());
    if (judged_by_rate(result, epoch)) return rate(*result.controls.null_step->samples_per_second) + " without steps";
    if (!epoch.idle.steady_fraction) return "idle " + format_percent(epoch.idle.fraction);
    return "steady idle " + format_percent(*epoch.idle.steady_fraction);
}

// The same of a control, to stand behind measured().
std::string control_figure(const Result& result, const std::optional<ControlFigures>& control) {
    if (!control) return "not measured";
    if (result.step_seconds > 0 && !judged_by_rate(result, *result.last_epoch())) {
        return control->utilization ? format_percent(1 - *control->utilization) : "not measured";
    }
    return control->samples_per_second ? rate(*control->samples_per_second) : "not measured";
}

// More of the dataset where the run left some of it, else more than it has.
std::string run_longer(const Result& result, const EpochResult& epoch) {
    const std::uint64_t batches =
        (result.dataset.samples + result.batch_size - 1) / std::max<std::uint64_t>(result.batch_size, 1);
    return epoch.steps < batches ? "run longer" : "measure a larger dataset or use a smaller batch";
}

// A disk gives so many reads a second and so many bytes a second, and one run shows not which of them it is short of:
// only where packing saves reads that carry nothing, or where a read costs a seek, is it sure to help.
std::string packing_advice(const Result& result, const EpochResult& epoch, double reads_a_sample) {
    constexpr double kReadsThatCarryNothing = 1.5;  // a sample
    if (reads_a_sample >= kReadsThatCarryNothing || result.tier.tier_kind == "local-hdd") {
        return "so pack the small files into shards, or use a tier with more requests a second";
    }
    const double samples_a_second = epoch.samples_per_second();
    return fmt::format(
        "{} reads and {} a second: if that is as many reads as the disk gives, pack the small files into shards; if it "
        "is as many bytes, packing changes nothing: use a faster disk, more disks or smaller samples",
        format_per_second(samples_a_second * reads_a_sample), format_size(epoch.bytes_per_second()));
}

bool shuffled(const Result& result) {
    return result.config.contains("order") && result.config["order"] == "shuffle";
}

// What to try when storage is slow depends on where its time goes.
std::string reading_advice(const Result& result, const EpochResult& epoch) {
    const Causes& causes = deciding_causes(result, epoch);
    const double mean_bytes = share(static_cast<double>(epoch.bytes), static_cast<double>(epoch.samples));
    constexpr double kRequestBoundBytes = 1 << 20;
    constexpr double kManyReads = 0.5;  // a sample
    const double reads = epoch.device_reads_per_sample().value_or(0);
    if (result.dataset.packed && reads >= kManyReads && mean_bytes < kRequestBoundBytes && shuffled(result)) {
        return fmt::format(
            "each sample of {} costs {:.2f} device reads, as its shards are read one sample here, one there: shuffle "
            "when packing (feedline pack --order shuffle) and read in that order (--order sequential)",
            format_size(mean_bytes), reads);
    }
    if (!result.dataset.packed && reads >= kManyReads && mean_bytes < kRequestBoundBytes) {
        return fmt::format("each sample of {} costs {:.2f} device reads, {}", format_size(mean_bytes), reads,
                           packing_advice(result, epoch, reads));
    }
    if (!result.dataset.packed && causes[Cause::open] > causes[Cause::read]) {
        return "most of it is opening files: pack them into shards, so that fewer are opened";
    }
    const auto config = [&](const char* name) {
        return result.config.contains(name) && result.config[name].is_number()
                   ? result.config[name].get<std::uint64_t>()
                   : 0;
    };
    // There are never more samples in flight than the slots hold.
    if (config("queue_depth") > 0 && config("slots") > 0 &&
        config("queue_depth") >= config("slots") * result.batch_size) {
        return "more --slots or a larger --batch-size, so that more is in flight; if that changes nothing, use a "
               "faster tier";
    }
    if (config("queue_depth") > 0) {
        return fmt::format("raise --queue-depth (now {}); if that changes nothing, use a faster tier",
                           config("queue_depth"));
    }
    return "raise --queue-depth; if that changes nothing, use a faster tier";
}

// Its samples lie in no file as they are, so no other engine reads them.
bool only_native(const Result& result) {
    return result.engine == "native" && !result.extents;
}

// Another engine costs nothing to try, so it comes first.
std::string storage_advice(const Result& result, const EpochResult& epoch) {
    std::string advice = reading_advice(result, epoch);
    if (!asked_for_cold(result) || result.engine == "uring-direct" || only_native(result)) return advice;
    return fmt::format("--engine uring-direct, which reads past the page cache; then {}", advice);
}

// Where a preset's samples are of another size, what is counted in samples is not what the preset's own data would do.
std::string sample_sizes(const Result& result) {
    const std::span<const Preset> all = presets();
    const auto preset =
        std::find_if(all.begin(), all.end(), [&](const Preset& one) { return one.name == result.workload; });
    if (preset == all.end() || result.dataset.samples == 0) return {};
    const double mean = static_cast<double>(result.dataset.bytes) / static_cast<double>(result.dataset.samples);
    const auto theirs = static_cast<double>(preset->record_bytes);
    constexpr double kSameSize = 0.05;
    if (std::fabs(mean / theirs - 1) <= kSameSize) return {};
    return fmt::format(" (counted in samples: this dataset's are {} on average, {}'s are {})", format_size(mean),
                       preset->name, format_size(theirs));
}

std::string feeds(const Result& result, const EpochResult& epoch) {
    if (!result.accelerators_sustained) return {};
    const double sustained = *result.accelerators_sustained;
    const std::string_view where = from_memory(epoch) ? "From memory it" : "It";
    if (sustained * kRateDifference < result.accelerators) {
        return fmt::format(
            " {} would feed only about {:.2g} of them for long: what was read ahead hides that in this run; {}.", where,
            sustained, run_longer(result, epoch));
    }
    std::string text = fmt::format(" {} would feed about {:.1f} of them{}", where, sustained, sample_sizes(result));
    const unsigned tried = accelerators_with_margin(sustained);
    if (tried > result.accelerators) {
        if (tried > epoch.steps) {
            return text + fmt::format("; this run, with {}, is too short to try {}.",
                                      format_counted(epoch.steps, "batch"), tried);
        }
        return text + fmt::format(": try --accelerators {}, which leaves a margin of at least {:.0f} %.", tried,
                                  (kRateDifference - 1) * 100);
    }
    return text + ".";
}

// The idle time that is no part of the steady state, where it would have made another verdict.
std::string only_at_the_ends(const Result& result, const EpochResult& epoch) {
    const IdleFigures& idle = epoch.idle;
    if (result.step_seconds <= 0 || idle.fraction < kBusyEnough) return {};
    if (idle.steady_fraction.value_or(0) >= kBusyEnough) return {};
    const double at_the_end = idle.end_wait_ns;
    const double filling = idle.first_fill_ns;
    const double rest = idle_elsewhere_ns(idle);
    const auto of_all = [&](double ns) {
        return fmt::format("{} of {}", format_time(std::llround(ns)), format_time(std::llround(epoch.seconds * 1e9)));
    };
    if (rest > std::max(filling, at_the_end)) {
        return fmt::format(
            " {} were idle outside the steady state, in warm-up steps or in a gap that the end of the run cut; {}.",
            of_all(rest), run_longer(result, epoch));
    }
    std::string text;
    if (filling >= at_the_end) {
        constexpr double kNextToNothing = 0.05;
        const bool all_of_it = share(idle.idle_ns - filling, idle.idle_ns) < kNextToNothing;
        text = fmt::format(" {} {}; {}.",
                           all_of_it ? "Only the first fill was idle:" : "Most idle of all was the first fill:",
                           of_all(filling), run_longer(result, epoch));
    }
    // Half of what divides the verdicts is worth naming beside the fill.
    if (at_the_end > filling || share(at_the_end, epoch.seconds * 1e9) >= kBusyEnough / 2) {
        const std::uint64_t last = epoch.steps % std::max(1U, result.accelerators);
        text += fmt::format(" {} of idle time (mean) is waiting at the end for the other accelerators",
                            format_time(std::llround(at_the_end)));
        text += last == 0 ? "."
                          : fmt::format(
                                ": the last round gave {} of {} accelerators a batch; use --steps a multiple "
                                "of {}.",
                                last, result.accelerators, result.accelerators);
    }
    return text;
}

std::string memory_advice(const Result& result) {
    if (result.tier.tier_kind == "ram") return "name a dataset on the storage you mean to measure";
    if (asked_for_cold(result)) return "the pages were not dropped: another program holds them, or they are locked";
    return "use --cache cold to measure the storage";
}

// What stands before a verdict that is none on storage.
std::string memory_opening(const Result& result, const EpochResult& epoch) {
    if (!from_memory(epoch)) return {};
    return fmt::format("This was memory, not the storage ({}): ", memory_advice(result));
}

std::string memory_doubt(const Result& result, const EpochResult& epoch) {
    if (epoch.cache.verdict == "mixed") {
        std::string text = " Part of it came from memory";
        if (epoch.cache.device_bytes && epoch.cache.logical_bytes > 0) {
            const double device =
                share(static_cast<double>(*epoch.cache.device_bytes), static_cast<double>(epoch.cache.logical_bytes));
            text += fmt::format(" ({} was read from the device)", format_percent(std::min(device, 1.0)));
        }
        return text + (asked_for_cold(result) ? "." : ": use --cache cold to measure the storage alone.");
    }
    if (epoch.cache.verdict == "unknown" && !epoch.cache.reason.empty()) {
        return fmt::format(" How much of it came from memory cannot be told: {}.", epoch.cache.reason);
    }
    return {};
}

std::string shortness(const Result& result, const EpochResult& epoch) {
    if (result.step_seconds <= 0) {
        if (epoch.steps >= kFewSteps) return {};
        return fmt::format(" This run is short, {}: {} before you rely on it.", format_counted(epoch.steps, "batch"),
                           run_longer(result, epoch));
    }
    if (!epoch.idle.steady_fraction) return {};
    const std::uint64_t each = epoch.idle.steady_steps / std::max(1U, result.accelerators);
    if (each < kFewSteps) {
        return fmt::format(" This run is short, {} an accelerator after the first: {} before you rely on it.",
                           format_counted(each, "step"), run_longer(result, epoch));
    }
    const std::optional<double> noise = steady_noise(result, epoch);
    const double steady = *epoch.idle.steady_fraction;
    if (noise && std::fabs(steady - kBusyEnough) < *noise) {
        return fmt::format(" {} +- {} is too close to the {:.0f} % that divides to be sure: {}.",
                           format_percent(steady), format_percent(*noise), kBusyEnough * 100,
                           run_longer(result, epoch));
    }
    return {};
}

constexpr double kWorthNaming = 0.05;  // of idle beside what a verdict rests on

// Most of the idle time stays without the storage, and what goes with it may still be worth having.
std::string help_of_faster_storage(const Result& result, const EpochResult& epoch) {
    const std::optional<ControlFigures>& warm = result.controls.warm;
    if (result.step_seconds > 0 && warm && warm->utilization && epoch.idle.steady_fraction) {
        const double gone = *epoch.idle.steady_fraction - (1 - *warm->utilization);
        if (gone >= kWorthNaming) {
            return fmt::format("faster storage would help by {:.0f} points at most, and the rest is not the storage's",
                               gone * 100);
        }
    }
    return "faster storage would not help";
}

// Memory is the fastest storage there is.
std::string beyond_storage(const Result& result) {
    const std::optional<ControlFigures>& warm = result.controls.warm;
    if (result.step_seconds <= 0 || !warm || !warm->utilization || 1 - *warm->utilization < kWorthNaming) return {};
    return fmt::format(" No storage will take idle below those {}: from there on the CPU is the limit.",
                       format_percent(1 - *warm->utilization));
}

std::string cpu_text(const Result& result, const EpochResult& epoch, const std::string& here) {
    const std::optional<ControlFigures>& null_storage = result.controls.null_storage;
    const bool decodes_anyhow = null_storage && null_storage->idle_by_cause &&
                                null_storage->idle_by_cause->total() > 0 &&
                                largest_cause(*null_storage->idle_by_cause) == Cause::decode;
    const Causes& causes = deciding_causes(result, epoch);
    if (decodes_anyhow || largest_cause(causes) == Cause::decode) {
        const Causes& split = decodes_anyhow ? *null_storage->idle_by_cause : causes;
        return fmt::format(
            "the CPU is the limit: {} here, {} with storage that costs nothing, and decoding is {} of that, so faster "
            "storage would not help. Next: more cores (and --threads to use them), decode on the accelerator, or store "
            "samples that "
            "need less decoding.",
            here, control_figure(result, null_storage), share_of(split, Cause::decode));
    }
    const std::string advice = fmt::format("more --threads if cores are free, or {}",
                                           only_native(result)                  ? "store the samples uncompressed"
                                           : result.engine.starts_with("uring") ? "larger records"
                                                                                : "larger records, or --engine uring");
    if (from_memory(epoch)) {
        return fmt::format("reading from it, the CPU is the limit: {}, most of it in {}. Next: {}.", here,
                           to_string(largest_cause(causes)), advice);
    }
    return fmt::format("the CPU is the limit: {} here, {} from memory, so {}. Next: {}.", here,
                       control_figure(result, result.controls.warm), help_of_faster_storage(result, epoch), advice);
}

// Begins in lower case, to stand behind an opening.
std::string verdict(const Result& result, const EpochResult& epoch, const std::string& here) {
    switch (result.bottleneck) {
        case Bottleneck::accelerator: {
            const std::string rest = feeds(result, epoch);
            return fmt::format("the accelerator is the limit ({}): {} keeps up.{}{}", here,
                               from_memory(epoch) ? "memory" : "this tier", only_at_the_ends(result, epoch), rest);
        }
        case Bottleneck::storage:
            return fmt::format("storage is the limit: {} here, {} from memory. Next: {}.{}", here,
                               control_figure(result, result.controls.warm), storage_advice(result, epoch),
                               beyond_storage(result));
        case Bottleneck::cpu: return cpu_text(result, epoch, here);
        case Bottleneck::h2d:
            return fmt::format(
                "the copy to the accelerator is the limit: {} here, {} with copies alone. Next: a smaller batch in "
                "bytes (smaller samples), or a wider link.",
                here, control_figure(result, result.controls.h2d));
        case Bottleneck::harness:
            return fmt::format(
                "the measuring program is the limit, not the storage: {} here, {} with storage that costs nothing. "
                "Next: larger batches or more cores; take these figures as a lower bound.",
                here, control_figure(result, result.controls.null_storage));
        case Bottleneck::unknown: break;
    }
    return {};
}

// What stands in place of a verdict where samples are missing.
std::string missing_samples(const Result& result, const EpochResult& epoch) {
    std::string text = fmt::format("{} of {} never arrived", format_count(static_cast<double>(epoch.missing_samples())),
                                   format_counted(epoch.due_samples(), "sample"));
    std::string_view separator = ": ";
    for (const Oddity& oddity : result.dataset.oddities) {
        if (oddity.lost_bytes == 0) continue;
        text += fmt::format("{}{} {} (while indexing), first {}", separator,
                            format_count(static_cast<double>(oddity.count)), oddity.kind, printable(oddity.example));
        separator = "; ";
    }
    for (const Oddity& failure : epoch.failures) {
        text += fmt::format("{}{} {}, first {}", separator, format_count(static_cast<double>(failure.count)),
                            failure.kind, printable(failure.example));
        separator = "; ";
    }
    text += ". No verdict: a tier that delivers only a part of the samples has less to do.";
    if (epoch.steps_without_samples > 0) {
        text +=
            fmt::format(" {} had no sample left and {} as idle.", format_counted(epoch.steps_without_samples, "step"),
                        epoch.steps_without_samples == 1 ? "counts" : "count");
    }
    return text +
           " Next: mend these files or leave them out of the dataset; --on-error stop ends at the first of them.";
}

// There is no step that a steady figure could count.
std::string too_few_steps(const Result& result, const EpochResult& epoch) {
    const std::uint64_t warmup =
        result.config.is_object() ? result.config.value("warmup_steps", std::uint64_t{0}) : std::uint64_t{0};
    const std::string after = warmup > 1 ? fmt::format("the warm-up (--warmup-steps {})", warmup)
                                         : std::string("the first of an accelerator");
    return fmt::format("too few steps for a verdict: {} {} over, and none came after {}; {} of {} were idle. Next: {}.",
                       format_counted(epoch.steps, "step"), epoch.steps == 1 ? "was" : "were", after,
                       format_time(std::llround(epoch.idle.idle_ns)), format_time(std::llround(epoch.seconds * 1e9)),
                       run_longer(result, epoch));
}

// Why there is no verdict, and how to get one.
std::string open_question(const Result& result, const EpochResult& epoch, const std::string& here) {
    const std::string_view most = to_string(largest_cause(deciding_causes(result, epoch)));
    if (result.only_controls_missing()) {
        return fmt::format(
            "the epoch is complete ({}, most of it in {}), and the controls that tell why were interrupted. Next: let "
            "them run, or leave them out with --no-controls.",
            here, most);
    }
    if (!epoch.measured()) {
        return fmt::format("not one step was over, most of the time went to {}. Next: run longer.", most);
    }
    if (result.status == RunStatus::partial) {
        return fmt::format("interrupted: {} so far, most of it in {}. Next: let it run to the end for a verdict.", here,
                           most);
    }
    if (host_stalled(epoch)) {
        return fmt::format("{}, so what held it up is open ({}, most of it in {}). Next: measure again.",
                           host_stall_text(epoch), here, most);
    }
    if (stalled_at_the_cut(result, epoch)) {
        return fmt::format(
            "idle {}, though steady idle is {}: when the run was cut the accelerator was waiting for {}. Next: run "
            "longer.",
            format_percent(epoch.idle.fraction), format_percent(*epoch.idle.steady_fraction),
            to_string(largest_cause(epoch.idle.by_cause)));
    }
    if (reads_ahead_of(result, epoch)) {
        return fmt::format(
            "idle {}, and steady idle only {}: the run is little longer than what is read ahead, so that says nothing. "
            "Next: {}{}.",
            format_percent(epoch.idle.fraction), format_percent(*epoch.idle.steady_fraction), run_longer(result, epoch),
            result.controls.null_step ? "" : ", or leave out --no-controls");
    }
    if (result.step_seconds > 0 && !epoch.idle.steady_fraction) return too_few_steps(result, epoch);
    const std::string opening = result.step_seconds > 0 ? "the accelerator shows " + here : "it loads " + here;
    if (result.controls.null_storage) {
        return fmt::format(
            "{}, most of it in {}; a control gave no figure, or one far below the run itself, so the verdict is open.",
            opening, most);
    }
    return fmt::format("{}, most of it in {}. Next: leave out --no-controls, to tell storage from CPU.", opening, most);
}

std::string capital(std::string text) {
    if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text;
}

}  // namespace

std::string explain(const Result& result) {
    const EpochResult* epoch = result.last_epoch();
    if (epoch == nullptr) return "Nothing was measured.";
    if (epoch->lacks_samples()) return missing_samples(result, *epoch);
    const std::string here = measured(result, *epoch);
    std::string text = verdict(result, *epoch, here);
    if (text.empty()) {
        text = open_question(result, *epoch, here);
    } else if (result.status == RunStatus::partial && !result.only_controls_missing()) {
        text = "interrupted, and so far " + text;
    }
    return capital(memory_opening(result, *epoch) + text) + memory_doubt(result, *epoch) + shortness(result, *epoch);
}

std::string overlap_worth(const Result& result) {
    const EpochResult* epoch = result.last_epoch();
    const std::optional<ControlFigures>& serial = result.controls.serial;
    if (epoch == nullptr || !serial || !serial->utilization || serial->other_cache) return {};
    if (result.step_seconds <= 0 || !epoch->idle.steady_fraction) return {};
    return fmt::format("overlapping is worth: {} -> {} busy", format_percent(*serial->utilization),
                       format_percent(1 - *epoch->idle.steady_fraction));
}

}  // namespace feedline
