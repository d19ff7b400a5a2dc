#include "bench/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <utility>

#include "bench/bottleneck.h"
#include "bench/controls.h"
#include "bench/interruptible.h"
#include "bench/notes.h"
#include "bench/outputs.h"
#include "bench/require.h"
#include "bench/workbench.h"
#include "core/failure_words.h"
#include "core/presets.h"
#include "core/units.h"
#include "loaders/shards/index_cache.h"

namespace feedline {
namespace {

// A dataset that is open, and what carries it.
struct Tier {
    std::string name;
    std::shared_ptr<const Dataset> dataset;
    TierInfo info;
};

// One thing to measure.
struct Combination {
    const Tier* tier = nullptr;
    EngineSelection engine;
    BenchOptions options;  // in effect
    std::string name;
    std::vector<std::string> notes;
};

std::string workload_name(const BenchOptions& options) {
    if (!options.workload.empty()) return options.workload;
    return options.step_time_ns.value_or(0) > 0 ? "custom" : "rate";
}

std::string combination_name(const Tier& tier, std::string_view engine, const BenchOptions& options) {
    return fmt::format("{}/{}/{}/{}", tier.name, tier.dataset->info().format, engine, workload_name(options));
}

Tier open_tier(const DatasetArgument& argument, const BenchOptions& options, BenchObserver& observer,
               const Interrupt& interrupt) {
    struct Found {
        std::atomic<std::uint64_t> samples{0};
    };
    const auto found = std::make_shared<Found>();
    const std::string what = "indexing " + printable(argument.path);
    Tier tier;
    tier.name = argument.name;
    tier.dataset = run_interruptibly(
        [path = argument.path, format = options.format, hdf5_dataset = options.hdf5_dataset,
         skip = options.on_error == OnError::skip, cache = options.index_cache, found] {
            OpenOptions open;
            if (cache == "auto") {
                open.index_cache = default_index_cache();
                open.index_cache_from_ns = kNanosecondsPerSecond;
            } else if (cache != "off") {
                open.index_cache = cache;
            }
            open.skip_corrupt = skip;
            open.hdf5_dataset = hdf5_dataset;
            open.progress = [](std::uint64_t samples, void* context) {
                static_cast<Found*>(context)->samples.store(samples, std::memory_order_relaxed);
            };
            open.progress_context = found.get();
            return std::shared_ptr<const Dataset>(open_dataset(path, format, open));
        },
        interrupt, [&] { observer.working(what, found->samples.load(std::memory_order_relaxed), 0); });
    tier.info = run_interruptibly([path = argument.path] { return tier_info(path); }, interrupt);
    return tier;
}

// What cannot be measured of this dataset, said before anything is.
void check_against(const BenchOptions& chosen, const Tier& tier, const EngineSelection& engine) {
    const DatasetInfo& info = tier.dataset->info();
    if (chosen.batch_size * chosen.world > info.samples) {
        std::string what = fmt::format("a batch of {}", chosen.batch_size);
        if (chosen.world > 1) what += fmt::format(" on each of {} ranks", chosen.world);
        throw Error(ErrorKind::usage,
                    fmt::format("{} is more than this dataset has: {}", what, format_counted(info.samples, "sample")))
            .at(info.path)
            .advise("Use a smaller --batch-size, or more data");
    }
    OrderOptions order_options;
    order_options.batch_size = chosen.batch_size;
    order_options.world = chosen.world;
    const Order order(info.samples, order_options);
    const std::uint64_t steps = chosen.steps > 0 ? std::min(chosen.steps, order.batches()) : order.batches();
    if (steps < chosen.accelerators) {
        throw Error(ErrorKind::usage, fmt::format("{} accelerators, but an epoch has only {} to share among them",
                                                  chosen.accelerators, format_counted(steps, "step")))
            .at(info.path);
    }
    if (chosen.warmup_steps >= steps) {
        throw Error(ErrorKind::usage, fmt::format("--warmup-steps {} leaves nothing of an epoch of {}",
                                                  chosen.warmup_steps, format_counted(steps, "step")))
            .at(info.path);
    }
    const std::uint64_t most = std::uint64_t{max_engine_queue_depth(engine.kind)} * chosen.threads;
    if (chosen.queue_depth > most) {
        throw Error(ErrorKind::usage,
                    fmt::format("--queue-depth {}: {} with {} takes {} at most here", chosen.queue_depth,
                                to_string(engine.kind), format_counted(chosen.threads, "thread"), most))
            .advise("a ring takes no more than there may be open files (ulimit -n)");
    }
}

std::vector<std::string> wanted_engines(const BenchOptions& options) {
    if (options.engines.front() == "all") return {"pread", "mmap", "uring", "uring-direct", "native"};
    if (options.engines.front() != "auto") return options.engines;
    const auto available = available_engines();
    const bool uring = std::find(available.begin(), available.end(), EngineKind::uring) != available.end();
    if (!uring) return {"pread"};
    // What is read once from the device gains nothing from the page cache and pays for it: a copy and a page a block.
    return {options.cache == CacheMode::cold ? "uring-direct" : "uring"};
}

bool has_native_reader(const std::shared_ptr<const Dataset>& dataset, const Interrupt& interrupt) {
    return run_interruptibly([dataset] { return dataset->native_reader() != nullptr; }, interrupt);
}

// What will run on this tier; what does not apply goes to `skipped`.
std::vector<Combination> plan_tier(const Tier& tier, const BenchOptions& options, std::vector<Skipped>& skipped,
                                   const Interrupt& interrupt) {
    std::vector<Combination> planned;
    std::set<EngineKind> kinds;
    const std::vector<std::string> wanted = wanted_engines(options);
    for (const std::string& name : wanted) {
        const auto skip = [&](std::string reason) {
            skipped.push_back({combination_name(tier, name, options), std::move(reason)});
        };
        if (name == "native" && !has_native_reader(tier.dataset, interrupt)) {
            skip(fmt::format(
                "{} no library of their own to read them with; use --engine auto, pread, mmap, uring or uring-direct",
                tier.dataset->info().packed ? "these shards have" : "small files have"));
            // Nobody who sweeps over all engines waits for what this format never has.
            skipped.back().expected = wanted.size() == 1 || options.engines.front() != "all";
            continue;
        }
        const EngineKind kind = parse_engine_kind(name);
        if (kind == EngineKind::uring_direct && options.cache == CacheMode::warm) {
            skip("O_DIRECT reads past the page cache, so it is never warm");
            continue;
        }
        Combination next;
        next.tier = &tier;
        next.engine =
            run_interruptibly([kind, dataset = tier.dataset] { return select_engine(kind, *dataset); }, interrupt);
        if (!next.engine.fallback.empty()) {
            // In a sweep the engine it falls back to has its own place.
            const bool elsewhere = std::find(wanted.begin(), wanted.end(), to_string(next.engine.kind)) != wanted.end();
            if (elsewhere || kinds.contains(next.engine.kind)) {
                skip(next.engine.fallback);
                continue;
            }
            next.notes.push_back(next.engine.fallback);
        }
        kinds.insert(next.engine.kind);
        next.options = options_in_effect(options, tier.dataset->info(), next.engine.kind, next.notes);
        next.name = combination_name(tier, to_string(next.engine.kind), options);
        check_against(next.options, tier, next.engine);
        planned.push_back(std::move(next));
    }
    return planned;
}

Result described(const Combination& combination, DeviceKind device) {
    const BenchOptions& options = combination.options;
    Result result;
    result.name = combination.name;
    result.tier_name = combination.tier->name;
    result.engine = to_string(combination.engine.kind);
    result.workload = workload_name(options);
    result.config = config_json(options);
    result.notes = combination.notes;
    result.dataset = combination.tier->dataset->info();
    result.extents = combination.tier->dataset->has_extents();
    result.tier = combination.tier->info;
    result.device_kind = device == DeviceKind::cuda ? "cuda" : "emulated";
    result.batch_size = options.batch_size;
    result.step_seconds = to_seconds(options.step_time_ns.value_or(0));
    result.accelerators = options.accelerators;
    return result;
}

// Of an epoch that --duration cut before a step was over. What it says of idle time is true, and no figure of a run.
Error nothing_measured(const EpochResult& epoch, const BenchOptions& options, bool stuck) {
    const std::string within = "within --duration " + format_time(options.duration_ns);
    const std::string why =
        epoch.idle.unfinished_ns > 0
            ? fmt::format("not one step of {} was over {}", format_time(options.step_time_ns.value_or(0)), within)
            : "no step began " + within;
    const Error nothing(ErrorKind::unsupported, "nothing was measured: " + why);
    if (!stuck) return Error(nothing).advise("use a longer one");
    return Error(ErrorKind::unsupported, nothing.message() + ", and a read has not come back at all")
        .advise("check the storage; --io-timeout names the file");
}

// False: a read did not come back, and what would have followed was not measured.
bool measure_epochs(Workbench& bench, Result& result) {
    const BenchOptions& options = bench.options();
    for (unsigned round = 0; round < options.rounds; ++round) {
        result.rounds.emplace_back();
        for (unsigned epoch = 0; epoch < options.epochs; ++epoch) {
            bench.prepare_cache();
            Pass pass = bench.measured_pass(epoch);
            pass.what = result.name;
            if (options.epochs > 1) pass.what += fmt::format(", epoch {} of {}", epoch + 1, options.epochs);
            if (options.rounds > 1) pass.what += fmt::format(", round {} of {}", round + 1, options.rounds);
            PassFigures figures = bench.run(pass);
            const EpochResult& measured = figures.epoch;
            // Without a step it is no measurement, but it says what the time went to.
            if (measured.seconds > 0) {
                result.rounds.back().push_back(measured);
                result.step_ns = std::move(figures.step_ns);
            }
            if (measured.partial) throw Error(ErrorKind::interrupted, "interrupted");
            // The time limit came first, and does not excuse it.
            if (bench.hung_too_long()) throw Error(*bench.hung_read());
            if (!measured.measured()) throw nothing_measured(measured, options, bench.stuck());
            if (measured.samples == 0 && measured.skipped_samples > 0) {
                const Oddity& first = measured.failures.front();
                throw Error(ErrorKind::io, fmt::format("not one sample could be read ({} {})", first.count, first.kind))
                    .at(first.example);
            }
            if (!measured.samples_delivered_once) {
                throw Error(ErrorKind::internal, "samples were not delivered exactly once").at(result.dataset.path);
            }
            const bool last = epoch + 1 == options.epochs && round + 1 == options.rounds;
            if (bench.stuck() && !last) return false;
        }
    }
    return true;
}

// Fills `result` as far as it gets. False: interrupted. `memory` may be null.
bool measure(const Combination& combination, DeviceKind device, Result& result, BenchOutcome& outcome,
             BenchObserver& observer, const Interrupt& interrupt, NullStorageMemory* memory) {
    bool stuck = false;
    bool epochs_done = false;
    std::string hung_in;  // where that is known
    try {
        Workbench bench(combination.tier->dataset, combination.options, combination.engine, device,
                        combination.tier->info, observer, interrupt);
        try {
            result.device_name = bench.device_name();
            epochs_done = measure_epochs(bench, result);
            for (std::string& note : epoch_notes(result, combination.options)) {
                result.notes.push_back(std::move(note));
            }
            if (combination.options.controls) measure_controls(bench, result, memory);
        } catch (...) {
            stuck = bench.stuck();
            throw;
        }
        stuck = bench.stuck();
        if (bench.hung_read()) hung_in = " of " + printable(bench.hung_read()->path());
    } catch (const std::exception& exception) {
        const Error error = as_error(exception);
        outcome.stuck |= stuck;
        if (error.kind() == ErrorKind::interrupted) {
            result.status = RunStatus::partial;
            const EpochResult* last = result.last_epoch();
            if (last != nullptr && !last->measured()) {
                result.notes.emplace_back("not one step was over when it was interrupted, so nothing was measured");
            }
            if (!epochs_done) result.missing.emplace_back("epochs");
            if (combination.options.controls) {
                for (std::string& control : missing_controls(result.controls)) {
                    result.missing.push_back(std::move(control));
                }
            }
            return false;
        }
        // What was asked for cannot be, and nothing was measured yet: that is refused, not recorded.
        if (error.kind() == ErrorKind::usage && outcome.file.results.empty() && result.rounds.empty())
            throw Error(error);
        result.status = RunStatus::failed;
        result.error = error.what();
        if (!outcome.failure) outcome.failure = error.kind();
    }
    outcome.stuck |= stuck;
    if (!stuck || result.status == RunStatus::failed) return true;
    result.notes.push_back(
        fmt::format("a read{} did not come back and was left behind: what would have followed it was "
                    "not measured{}",
                    hung_in, hung_in.empty() ? "; --io-timeout names its file" : ""));
    if (!epochs_done) result.missing.emplace_back("epochs");
    if (combination.options.controls) {
        for (std::string& control : missing_controls(result.controls)) result.missing.push_back(std::move(control));
    }
    return true;
}

}  // namespace

BenchOutcome run_bench(const BenchOptions& options, const Capabilities& machine, Context context,
                       BenchObserver& observer, const Interrupt& interrupt) {
    BenchOutcome outcome;
    outcome.file.context = std::move(context);
    std::vector<Tier> tiers;
    tiers.reserve(options.datasets.size());
    std::vector<Combination> combinations;
    try {
        for (const DatasetArgument& argument : options.datasets) {
            tiers.push_back(open_tier(argument, options, observer, interrupt));
        }
        for (const Tier& tier : tiers) {
            run_interruptibly(
                [dataset = tier.dataset, outputs = outputs_of(options)] {
                    check_outputs_against(outputs, *dataset);
                    return true;
                },
                interrupt);
            std::vector<Combination> planned = plan_tier(tier, options, outcome.file.skipped, interrupt);
            std::move(planned.begin(), planned.end(), std::back_inserter(combinations));
        }
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) throw;
        outcome.interrupted = true;
        return outcome;
    }
    const DeviceKind device = chosen_device(options, machine);
    NullStorageMemory memory;
    for (const Combination& combination : combinations) {
        if (outcome.interrupted) {
            outcome.file.skipped.push_back({combination.name, "interrupted before it began"});
            continue;
        }
        Result result = described(combination, device);
        const bool went_on = measure(combination, device, result, outcome, observer, interrupt,
                                     combinations.size() > 1 ? &memory : nullptr);
        result.bottleneck = find_bottleneck(result);
        outcome.file.results.push_back(std::move(result));
        observer.finished(outcome.file.results.back());
        if (!went_on) outcome.interrupted = true;
    }
    // Of an interrupted run nothing is judged.
    if (!outcome.interrupted) judge_requirements(options, outcome.file.results);
    return outcome;
}

int exit_code(const BenchOutcome& outcome) {
    if (outcome.interrupted) return exit_code(ErrorKind::interrupted);
    if (outcome.failure) return exit_code(*outcome.failure);
    if (outcome.file.results.empty()) return exit_code(ErrorKind::unsupported);
    const auto any = [&](std::vector<std::string> Result::*lines) {
        return std::any_of(outcome.file.results.begin(), outcome.file.results.end(),
                           [lines](const Result& result) { return !(result.*lines).empty(); });
    };
    if (any(&Result::missed_requirements)) return 1;
    return any(&Result::unjudged_requirements) ? exit_code(ErrorKind::unsupported) : 0;
}

}  // namespace feedline
