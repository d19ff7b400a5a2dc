#include "bench/controls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/bottleneck.h"
#include "bench/control_times.h"
#include "bench/copies_alone.h"
#include "bench/null_storage_memory.h"
#include "bench/ready_batches.h"
#include "core/units.h"
#include "loaders/dataset_slice.h"

namespace feedline {
namespace {

// More than so many device reads a sample, and "from memory" does not hold.
constexpr double kFewDeviceReads = 0.01;
// Steps of a timeline that is computed: the first fill is lost in them.
constexpr std::uint64_t kComputedSteps = 2000;
// How long a control waits for storage that does not answer, if that is far longer than it took before.
constexpr Nanoseconds kReadPatience = 10 * kNanosecondsPerSecond;
constexpr Nanoseconds kPreparePatience = 60 * kNanosecondsPerSecond;

// Of what was over by the end of its last step: a control is cut by its time limit, and a batch under way then would
// make few long ones look slow.
std::optional<double> rate(const IdleFigures& idle, double samples) {
    const double seconds = to_seconds(idle.last_end_ns - idle.t0_ns);
    if (seconds <= 0) return std::nullopt;
    return samples / seconds;
}

std::optional<double> rate(const EpochResult& epoch) {
    return rate(epoch.idle, static_cast<double>(epoch.samples));
}

std::optional<double> steady_utilization(const IdleFigures& idle) {
    if (!idle.steady_fraction) return std::nullopt;
    return 1 - *idle.steady_fraction;
}

void add_note(ControlFigures& figures, const std::string& note) {
    figures.note += (figures.note.empty() ? "" : "; ") + note;
}

class Controller {
public:
    Controller(Workbench& bench, const Result& result, NullStorageMemory* memory)
        : bench_(bench),
          name_(result.name),
          memory_(memory),
          last_(*result.last_epoch()),
          step_ns_(bench.options().step_time_ns.value_or(0)),
          bounds_(control_bounds(last_.idle.t1_ns - last_.idle.t0_ns, step_ns_, bench.options().accelerators,
                                 bench.options().warmup_steps)),
          from_memory_(last_.cache.verdict == "warm") {}

    Nanoseconds at_most_ns() const { return bounds_.at_most_ns(step_ns_, bench_.prepare_time_ns()); }

    ControlFigures null_storage() {
        if (memory_ == nullptr) return run_null_storage();
        const std::string inputs = null_storage_inputs(bench_);
        if (const NullStorageMemory::Known* known = memory_->find(inputs)) {
            ControlFigures figures = known->figures;
            add_note(figures, "as measured for " + printable(known->name));
            return figures;
        }
        ControlFigures figures = run_null_storage();
        memory_->keep(inputs, name_, figures);
        return figures;
    }

    // At step time 0 the measured epoch is this control.
    ControlFigures null_step() {
        ControlFigures figures;
        if (step_ns_ == 0) {
            figures.samples_per_second = last_.samples_per_second();
            figures.note = "the measured run itself";
            return figures;
        }
        figures.utilization = steady_utilization(last_.idle);
        prepare_cache();
        Pass pass = bench_.measured_pass(0);
        pass.step_ns = 0;
        pass.duration_ns = bounds_.null_step_ns;
        const EpochResult epoch = run(pass);
        figures.samples_per_second = rate(epoch);
        note_cache(figures, epoch);
        return figures;
    }

    ControlFigures warm(const std::optional<ControlFigures>& null_step) {
        const Pass measured = bench_.measured_pass(0);
        if (from_memory_ && !measured.engine.alignment.direct()) {
            ControlFigures figures = null_step.value_or(ControlFigures{});
            figures.note = "the run itself was from memory";
            return figures;
        }
        Pass pass = measured;
        pass.engine.alignment = Alignment{};
        if (pass.engine.kind == EngineKind::uring_direct) pass.engine.kind = EngineKind::uring;
        pass.step_ns = 0;
        pass.duration_ns = bounds_.warming_ns;
        ControlFigures figures;
        const std::uint64_t room = available_memory_bytes() / 2 / std::max<std::uint64_t>(bench_.max_batch_bytes(), 1);
        if (room == 0) {
            figures.note = "one batch alone does not fit the page cache";
            return figures;
        }
        pass.max_steps = pass.max_steps > 0 ? std::min(pass.max_steps, room) : room;
        bench_.say("control: from memory, reading it in");
        const std::uint64_t batches = bench_.run(pass).epoch.steps;
        if (batches == 0) {
            figures.note =
                fmt::format("storage gave no whole batch within {} to read again", format_time(bounds_.warming_ns));
            return figures;
        }
        bench_.say("control: from memory");
        pass.dataset =
            std::make_shared<DatasetSlice>(bench_.dataset(), first_samples(bench_.order_of(measured), batches));
        pass.wrap = true;
        for (const Nanoseconds step : step_times()) {
            const EpochResult epoch = run(pass, step, step > 0 ? bounds_.warm : bounds_.warm_rate);
            note_figures(figures, step, epoch);
            const double reads = epoch.device_reads_per_sample().value_or(0);
            if (reads > kFewDeviceReads && figures.note.empty()) {
                figures.note = fmt::format("{:.2f} device reads a sample, so not all from memory", reads);
            }
        }
        return figures;
    }

    // An emulated accelerator's own arithmetic tells; a real one is run.
    ControlFigures h2d() {
        const Pass measured = bench_.measured_pass(0);
        const std::uint64_t bytes =
            std::min(last_.h2d_bytes / std::max<std::uint64_t>(last_.steps, 1), bench_.slab()->bytes());
        const double samples_a_step = static_cast<double>(last_.samples) / static_cast<double>(last_.steps);
        const bool computed = bench_.device_kind() == DeviceKind::emulated;
        ControlFigures figures;
        if (computed) figures.note = "computed";
        for (const Nanoseconds step : step_times()) {
            Pass pass = measured;
            pass.step_ns = step;
            const IdleFigures idle = computed ? computed_copies(pass, bytes) : run_copies(pass, bytes);
            if (step == 0) figures.samples_per_second = rate(idle, static_cast<double>(idle.steps) * samples_a_step);
            note_idle(figures, step, idle);
        }
        return figures;
    }

    // One pass tells both figures: as nothing overlaps, a step only adds to the time that loading its batch takes.
    ControlFigures serial() {
        Pass pass = bench_.measured_pass(0);
        const unsigned devices = bench_.options().accelerators;
        pass.slots = devices;
        pass.serial = true;
        PassBound bound = bounds_.serial;
        // No wrapping: what was read once would come from memory.
        const std::uint64_t whole = pass.max_steps;
        if (whole > 0) bound.steps = bound.steps > 0 ? std::min(bound.steps, whole) : whole;
        const Nanoseconds step = bounds_.serial_without_steps ? 0 : step_ns_;
        prepare_cache();
        const EpochResult epoch = run(pass, step, bound);
        ControlFigures figures;
        note_idle(figures, step, epoch.idle);
        // Of the steps that were over.
        const auto steps = static_cast<double>(epoch.steps) / devices;
        const double loading_ns =
            static_cast<double>(epoch.idle.last_end_ns - epoch.idle.t0_ns) - steps * static_cast<double>(step);
        if (loading_ns > 0) figures.samples_per_second = static_cast<double>(epoch.samples) / (loading_ns * 1e-9);
        if (step != step_ns_) {
            const double busy_ns = steps * static_cast<double>(step_ns_);
            if (steps > 0) figures.utilization = busy_ns / (busy_ns + loading_ns);
            add_note(figures, "computed from the time to load a batch");
        }
        note_cache(figures, epoch);
        return figures;
    }

private:
    // What was measured is not to be lost on a control that hangs.
    void prepare_cache() { bench_.prepare_cache(std::max(kPreparePatience, 4 * bench_.prepare_time_ns())); }

    ControlFigures run_null_storage() {
        Pass pass = bench_.measured_pass(0);
        // Its one real batch is read before the time limit begins to count.
        pass.io_timeout_ns = std::max<Nanoseconds>(kReadPatience, 4 * last_.read_latency_ns.max);
        pass.engine.kind = EngineKind::null;
        pass.replay = true;
        pass.wrap = true;
        ControlFigures figures;
        std::uint64_t steps = ControlBounds::kNullStorageSteps;
        for (const Nanoseconds step : step_times()) {
            const EpochResult epoch = run(pass, step, step > 0 ? bounds_.null_storage : bounds_.null_storage_rate);
            if (epoch.samples == 0 && epoch.skipped_samples > 0) {
                return {std::nullopt, std::nullopt, "the batch to replay had no sample left, for all were skipped"};
            }
            note_figures(figures, step, epoch);
            steps = std::min(steps, epoch.steps);
        }
        if (steps < ControlBounds::kNullStorageSteps) add_note(figures, "over " + format_counted(steps, "step"));
        return figures;
    }

    EpochResult run(Pass pass, Nanoseconds step, const PassBound& bound) {
        pass.step_ns = step;
        pass.max_steps = bound.steps;
        pass.duration_ns = bound.duration_ns;
        return run(pass);
    }

    // A gap in which this process did not run leaves no figure.
    EpochResult run(const Pass& pass) {
        EpochResult epoch = bench_.run(pass).epoch;
        if (host_stalled(epoch)) throw Error(ErrorKind::unsupported, host_stall_text(epoch));
        return epoch;
    }

    IdleFigures run_copies(Pass pass, std::uint64_t bytes) {
        const PassBound& bound = pass.step_ns > 0 ? bounds_.warm : bounds_.warm_rate;
        pass.max_steps = bound.steps;
        pass.duration_ns = bound.duration_ns;
        ReadyBatches source(bench_.slab()->data(), bytes, pass.slots);
        return bench_.run_source(source, pass).idle;
    }

    // Every accelerator has a link of its own, so one stands for all.
    IdleFigures computed_copies(const Pass& pass, std::uint64_t bytes) const {
        const unsigned devices = bench_.options().accelerators;
        const std::uint64_t warmup = (bench_.options().warmup_steps + devices - 1) / devices;
        IdleFigures idle = copies_alone(bench_.device_options(pass, 0), bytes, warmup + kComputedSteps, warmup);
        idle.steps *= devices;
        return idle;
    }

    // 0 for the rate, and the run's own for the utilization.
    std::vector<Nanoseconds> step_times() const {
        return step_ns_ > 0 ? std::vector<Nanoseconds>{0, step_ns_} : std::vector<Nanoseconds>{0};
    }

    void note_figures(ControlFigures& figures, Nanoseconds step, const EpochResult& epoch) const {
        if (step == 0) figures.samples_per_second = rate(epoch);
        note_idle(figures, step, epoch.idle);
    }

    void note_idle(ControlFigures& figures, Nanoseconds step, const IdleFigures& idle) const {
        if (step > 0) figures.utilization = steady_utilization(idle);
        if (step == step_ns_) figures.idle_by_cause = step > 0 ? idle.steady_by_cause : idle.by_cause;
    }

    void note_cache(ControlFigures& figures, const EpochResult& epoch) const {
        figures.other_cache = epoch.cache.verdict != last_.cache.verdict;
        if (!figures.other_cache) return;
        add_note(figures, fmt::format("its cache was {}, the run's {}", epoch.cache.verdict, last_.cache.verdict));
    }

    Workbench& bench_;
    std::string name_;
    NullStorageMemory* memory_;
    const EpochResult& last_;
    Nanoseconds step_ns_;
    ControlBounds bounds_;
    bool from_memory_;
};

constexpr std::string_view kControls[] = {"null_storage", "null_step", "h2d", "serial", "warm"};

}  // namespace

std::vector<std::string> missing_controls(const Controls& controls) {
    const std::optional<ControlFigures>* const all[] = {&controls.null_storage, &controls.null_step, &controls.h2d,
                                                        &controls.serial, &controls.warm};
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < std::size(kControls); ++i) {
        if (!*all[i]) missing.push_back("controls." + std::string(kControls[i]));
    }
    return missing;
}

void measure_controls(Workbench& bench, Result& result, NullStorageMemory* memory) {
    const EpochResult* last = result.last_epoch();
    if (last == nullptr || last->steps == 0 || last->samples == 0) return;
    Controller controller(bench, result, memory);
    bench.announce(fmt::format("{} is measured; its controls take about {} at most (--no-controls leaves them out)",
                               result.name, format_time(controller.at_most_ns())));
    const auto measure = [&](const char* name, auto control) -> std::optional<ControlFigures> {
        bench.check_interrupt();
        if (bench.stuck()) return std::nullopt;
        bench.say(std::string("control: ") + name);
        try {
            std::optional<ControlFigures> figures = control();
            bench.check_interrupt();  // half a control is none
            return figures;
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::interrupted) throw;
            return ControlFigures{std::nullopt, std::nullopt, fmt::format("failed: {}", error.what())};
        }
    };
    Controls& controls = result.controls;
    controls.null_storage = measure("storage that costs nothing", [&] { return controller.null_storage(); });
    controls.null_step = measure("no step", [&] { return controller.null_step(); });
    result.accelerators_sustained = accelerators_sustained(result);
    if (result.step_seconds > 0 && controls.null_step && controls.null_step->other_cache) {
        result.notes.emplace_back(
            "how many accelerators this tier sustains is left open, since the loader alone found another cache than "
            "the "
            "run: use --cache cold or warm");
    }
    controls.h2d = measure("copies alone", [&] { return controller.h2d(); });
    controls.serial = measure("nothing overlapped", [&] { return controller.serial(); });
    // Last: it leaves pages behind.
    controls.warm = measure("from memory", [&] { return controller.warm(controls.null_step); });
}

}  // namespace feedline
