#include "bench/controls.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "bench/dataset_slice.h"
#include "core/units.h"

namespace feedline {
namespace {

// A control runs for this long, or for as many steps beyond the warm-up as a steady figure needs, whichever is longer.
constexpr Nanoseconds kControlTime = 2 * kNanosecondsPerSecond;
constexpr Nanoseconds kLeastSteps = 4;
// The loader alone: longer, since a throttled tier lets a burst through first, and a verdict hangs on its rate.
constexpr Nanoseconds kNullStepTime = 5 * kNanosecondsPerSecond;
// The harness: enough steps to meet the rare stall of a virtual machine.
constexpr std::uint64_t kNullStorageSteps = 2000;
constexpr Nanoseconds kNullStorageTime = 5 * kNanosecondsPerSecond;
// From memory: what can be read in this time is what is read again.
constexpr Nanoseconds kWarmingTime = 3 * kNanosecondsPerSecond;
// More than so many device reads a sample, and "from memory" does not hold.
constexpr double kFewDeviceReads = 0.01;

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

// Batches that are always ready: what is left is the copy to the device.
class ReadyBatches final : public BatchSource {
public:
    // Every batch is [data, data + bytes). At most `slots` are handed out and not released.
    ReadyBatches(const std::byte* data, std::uint64_t bytes, unsigned slots) : batches_(slots + 1) {
        for (Batch& batch : batches_) {
            batch.data = data;
            batch.bytes = bytes;
            batch.payload_bytes = bytes;
        }
    }

    const Batch* next() override {
        std::unique_lock lock(mutex_);
        released_.wait(lock, [&] { return stopped_ || next_ - free_before_ < batches_.size() - 1; });
        if (stopped_) return nullptr;
        Batch& batch = batches_[next_ % batches_.size()];
        const Nanoseconds now = now_ns();
        if (first_issue_ns_ == 0) first_issue_ns_ = now;
        batch.index = next_++;
        batch.slot_ns = batch.first_issue_ns = batch.ready_ns = now;
        return &batch;
    }

    void release(std::uint64_t index) override {
        const std::lock_guard lock(mutex_);
        free_before_ = index + 1;
        released_.notify_all();
    }

    void stop() override {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        released_.notify_all();
    }

    Nanoseconds first_issue_ns() const override {
        const std::lock_guard lock(mutex_);
        return first_issue_ns_;
    }

    std::optional<Nanoseconds> slot_since_ns(std::uint64_t /*index*/) const override { return first_issue_ns(); }

private:
    mutable std::mutex mutex_;
    std::condition_variable released_;
    std::vector<Batch> batches_;
    std::uint64_t next_ = 0;
    std::uint64_t free_before_ = 0;
    Nanoseconds first_issue_ns_ = 0;
    bool stopped_ = false;
};

class Controller {
public:
    Controller(Workbench& bench, const Result& result)
        : bench_(bench),
          last_(*result.last_epoch()),
          step_ns_(bench.options().step_time_ns.value_or(0)),
          from_memory_(last_.cache.verdict == "warm") {}

    ControlFigures null_storage() {
        Pass pass = bench_.measured_pass(0);
        pass.engine.kind = EngineKind::null;
        pass.replay = true;
        pass.wrap = true;
        pass.max_steps = kNullStorageSteps;
        ControlFigures figures;
        std::uint64_t steps = kNullStorageSteps;
        for (const Nanoseconds step : step_times()) {
            pass.step_ns = step;
            pass.duration_ns = at_least(kNullStorageTime, step);
            steps = std::min(steps, note_figures(figures, step, bench_.run(pass).epoch));
        }
        if (steps < kNullStorageSteps) add_note(figures, fmt::format("{} steps in the time allowed", steps));
        return figures;
    }

    // At step time 0 the measured epoch is this control.
    ControlFigures null_step() {
        ControlFigures figures;
        if (step_ns_ == 0) {
            figures.samples_per_second = last_.samples_per_second();
            return figures;
        }
        figures.utilization = steady_utilization(last_.idle);
        bench_.prepare_cache();
        Pass pass = bench_.measured_pass(0);
        pass.step_ns = 0;
        pass.duration_ns = kNullStepTime;
        const EpochResult epoch = bench_.run(pass).epoch;
        figures.samples_per_second = rate(epoch);
        if (epoch.cache.verdict != last_.cache.verdict) {
            add_note(figures, fmt::format("its cache was {}, the run's {}", epoch.cache.verdict, last_.cache.verdict));
            comparable_ = false;
        }
        return figures;
    }
    // Whether null_step() read from the same kind of cache as the measured epoch.
    bool comparable() const { return comparable_; }

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
        pass.duration_ns = kWarmingTime;
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
            figures.note = fmt::format("no batch could be read within {}", format_time(kWarmingTime));
            return figures;
        }
        bench_.say("control: from memory");
        pass.dataset =
            std::make_shared<DatasetSlice>(bench_.dataset(), first_samples(bench_.order_of(measured), batches));
        pass.wrap = true;
        pass.max_steps = 0;
        for (const Nanoseconds step : step_times()) {
            pass.step_ns = step;
            pass.duration_ns = at_least(kControlTime, step);
            const EpochResult epoch = bench_.run(pass).epoch;
            note_figures(figures, step, epoch);
            const double reads = epoch.device_reads_per_sample().value_or(0);
            if (reads > kFewDeviceReads && figures.note.empty()) {
                figures.note = fmt::format("{:.2f} device reads a sample, so not all from memory", reads);
            }
        }
        return figures;
    }

    ControlFigures h2d() {
        Pass pass = bench_.measured_pass(0);
        const std::uint64_t bytes =
            std::min(last_.h2d_bytes / std::max<std::uint64_t>(last_.steps, 1), bench_.slab()->bytes());
        const double samples_a_step = static_cast<double>(last_.samples) / static_cast<double>(last_.steps);
        ControlFigures figures;
        for (const Nanoseconds step : step_times()) {
            pass.step_ns = step;
            pass.max_steps = 0;
            pass.duration_ns = step > 0 ? at_least(kControlTime, step) : kControlTime / 2;
            ReadyBatches source(bench_.slab()->data(), bytes, pass.slots);
            const EpochOutcome outcome = bench_.run_source(source, pass);
            if (step > 0) {
                figures.utilization = steady_utilization(outcome.idle);
            } else {
                figures.samples_per_second = rate(outcome.idle, static_cast<double>(outcome.steps) * samples_a_step);
            }
        }
        return figures;
    }

    ControlFigures serial() {
        Pass pass = bench_.measured_pass(0);
        pass.slots = bench_.options().accelerators;
        pass.serial = true;
        ControlFigures figures;
        for (const Nanoseconds step : step_times()) {
            bench_.prepare_cache();
            pass.step_ns = step;
            pass.duration_ns = at_least(kControlTime, step);
            note_figures(figures, step, bench_.run(pass).epoch);
        }
        return figures;
    }

private:
    Nanoseconds at_least(Nanoseconds time_ns, Nanoseconds step_ns) const {
        const BenchOptions& options = bench_.options();
        const std::uint64_t warmup = (options.warmup_steps + options.accelerators - 1) / options.accelerators;
        return std::max(time_ns,
                        (static_cast<Nanoseconds>(std::max<std::uint64_t>(warmup, 1)) + kLeastSteps) * step_ns);
    }

    // 0 for the rate, and the run's own for the utilization.
    std::vector<Nanoseconds> step_times() const {
        return step_ns_ > 0 ? std::vector<Nanoseconds>{0, step_ns_} : std::vector<Nanoseconds>{0};
    }

    // Returns the steps it was made of.
    std::uint64_t note_figures(ControlFigures& figures, Nanoseconds step, const EpochResult& epoch) const {
        if (step > 0) {
            figures.utilization = steady_utilization(epoch.idle);
        } else {
            figures.samples_per_second = rate(epoch);
        }
        return epoch.steps;
    }

    Workbench& bench_;
    const EpochResult& last_;
    Nanoseconds step_ns_;
    bool from_memory_;
    bool comparable_ = true;
};

}  // namespace

void measure_controls(Workbench& bench, Result& result) {
    const EpochResult* last = result.last_epoch();
    if (last == nullptr || last->steps == 0 || last->samples == 0) return;
    Controller controller(bench, result);
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
    controls.h2d = measure("copies alone", [&] { return controller.h2d(); });
    controls.serial = measure("nothing overlapped", [&] { return controller.serial(); });
    // Last: it leaves pages behind.
    controls.warm = measure("from memory", [&] { return controller.warm(controls.null_step); });

    if (result.step_seconds > 0 && controls.null_step && controls.null_step->samples_per_second) {
        if (controller.comparable()) {
            const double demand = static_cast<double>(result.batch_size) / result.step_seconds;
            result.accelerators_sustained = *controls.null_step->samples_per_second / demand;
        } else {
            result.notes.push_back(
                "how many accelerators this tier sustains is left open, since the loader alone found "
                "another cache than the run: use --cache cold or warm");
        }
    }
}

}  // namespace feedline
