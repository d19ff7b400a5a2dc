#include "bench/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace feedline {
namespace {

IdleFigures combine_all(const std::vector<Timeline>& devices) {
    std::vector<const Timeline*> pointers;
    pointers.reserve(devices.size());
    for (const Timeline& device : devices) pointers.push_back(&device);
    return combine(pointers);
}

constexpr double kExact = 1e-6;     // nanoseconds: rounding of the shares
constexpr double kFraction = 1e-9;  // of a fraction

// One device by the recurrence of device.h: the times follow from when the batches are ready.
class Recurrence {
public:
    Recurrence(unsigned slots, Nanoseconds copy_ns, Nanoseconds step_ns)
        : slots_(slots), copy_ns_(copy_ns), step_ns_(step_ns) {}

    StepTimes next(Nanoseconds ready_ns) {
        StepTimes t;
        t.index = done_.size();
        t.ready_ns = ready_ns;
        t.copy_start_ns = ready_ns;
        if (!done_.empty()) t.copy_start_ns = std::max(t.copy_start_ns, done_.back().copy_end_ns);
        if (done_.size() >= slots_) t.copy_start_ns = std::max(t.copy_start_ns, done_[done_.size() - slots_].end_ns);
        t.copy_end_ns = t.copy_start_ns + copy_ns_;
        t.start_ns = done_.empty() ? t.copy_end_ns : std::max(t.copy_end_ns, done_.back().end_ns);
        t.end_ns = t.start_ns + step_ns_;
        done_.push_back(t);
        return t;
    }

    Nanoseconds copy_end(std::size_t index) const { return done_[index].copy_end_ns; }

private:
    unsigned slots_;
    Nanoseconds copy_ns_;
    Nanoseconds step_ns_;
    std::vector<StepTimes> done_;
};

void expect_sums(const IdleFigures& figures) {
    EXPECT_NEAR(figures.by_cause.total(), figures.idle_ns, kExact);
    EXPECT_NEAR(figures.idle_ns + figures.busy_ns, static_cast<double>(figures.t1_ns - figures.t0_ns), kExact);
}

// A loader that finishes a batch every `period`, one device.
IdleFigures constant_loader(Nanoseconds t0, Nanoseconds period, Nanoseconds copy, Nanoseconds step, unsigned batches) {
    Recurrence device(8, copy, step);
    Timeline timeline(0);
    timeline.begin(t0);
    for (unsigned i = 0; i < batches; ++i) {
        const Nanoseconds slot = t0 + i * period;
        const std::vector<RequestTrace> trace{{slot, slot, slot + period, slot + period, 1}};
        timeline.add(device.next(slot + period), slot, trace);
    }
    return timeline.figures();
}

TEST(Timeline, SlowLoaderLeavesTheDifferenceIdle) {
    constexpr Nanoseconds kPeriod = 5'000'000;
    constexpr Nanoseconds kStep = 2'000'000;
    constexpr unsigned kBatches = 100;
    const IdleFigures figures = constant_loader(1'000, kPeriod, 0, kStep, kBatches);
    // The last step ends one step after the last batch.
    EXPECT_EQ(figures.t1_ns - figures.t0_ns, kBatches * kPeriod + kStep);
    EXPECT_NEAR(figures.fraction, 1.0 - kBatches * 2.0 / (kBatches * 5.0 + 2.0), kFraction);
    EXPECT_NEAR(figures.steady_fraction.value(), 3.0 / 5.0, kFraction);
    EXPECT_NEAR(figures.mlperf_utilization.value(), 2.0 / 5.0, kFraction);
    EXPECT_NEAR(figures.by_cause[Cause::read], figures.idle_ns, kExact);
    EXPECT_NEAR(figures.drift.value(), 0, kFraction);
    expect_sums(figures);
}

TEST(Timeline, FastLoaderCostsOnlyTheFirstFill) {
    constexpr unsigned kBatches = 50;
    const IdleFigures figures = constant_loader(7, 1'000'000, 300'000, 2'000'000, kBatches);
    EXPECT_NEAR(figures.idle_ns, 1'300'000, kExact);
    EXPECT_NEAR(figures.by_cause[Cause::read], 1'000'000, kExact);
    EXPECT_NEAR(figures.by_cause[Cause::h2d], 300'000, kExact);
    EXPECT_NEAR(figures.fraction, 1.3 / (1.3 + 2.0 * kBatches), kFraction);
    EXPECT_NEAR(figures.steady_fraction.value(), 0, kFraction);
    EXPECT_NEAR(figures.mlperf_utilization.value(), 1, kFraction);  // the excluded first step hides the fill
    expect_sums(figures);
}

TEST(Timeline, SlowCopiesAreTheCause) {
    constexpr unsigned kBatches = 40;
    // Copies take 3 ms, steps 2 ms, batches come every 1 ms: one copy after the other paces everything.
    const IdleFigures figures = constant_loader(0, 1'000'000, 3'000'000, 2'000'000, kBatches);
    EXPECT_EQ(figures.t1_ns, 1'000'000 + kBatches * 3'000'000 + 2'000'000);
    EXPECT_NEAR(figures.by_cause[Cause::read], 1'000'000, kExact);
    EXPECT_NEAR(figures.by_cause[Cause::h2d], 3'000'000 + (kBatches - 1) * 1'000'000.0, kExact);
    EXPECT_NEAR(figures.steady_fraction.value(), 1.0 / 3.0, kFraction);
    expect_sums(figures);
}

TEST(Timeline, OneSlotMakesTheLoaderWaitForTheCopy) {
    // One slot: reading batch i begins when copy i-1 is over. Read 4, copy 1, step 2 (ms): a cycle of 5, of which the
    // step takes 2; of the gap of 3, 2 lie before the batch is ready and 1 in the copy.
    constexpr Nanoseconds kMs = 1'000'000;
    constexpr unsigned kBatches = 30;
    Recurrence device(1, kMs, 2 * kMs);
    Timeline timeline(0);
    timeline.begin(0);
    Nanoseconds slot = 0;
    for (unsigned i = 0; i < kBatches; ++i) {
        const std::vector<RequestTrace> trace{{slot, slot + kMs, slot + 4 * kMs, slot + 4 * kMs, 1}};
        timeline.add(device.next(slot + 4 * kMs), slot, trace);
        slot = device.copy_end(i);
    }
    const IdleFigures figures = timeline.figures();
    EXPECT_NEAR(figures.steady_fraction.value(), 3.0 / 5.0, kFraction);
    EXPECT_NEAR(figures.by_cause[Cause::h2d], kBatches * 1e6, kExact);
    // The open, 1 ms, hides behind the step of 2 ms from the second batch on.
    EXPECT_NEAR(figures.by_cause[Cause::open], 1e6, kExact);
    EXPECT_NEAR(figures.by_cause[Cause::read], 3e6 + (kBatches - 1) * 2e6, kExact);
    expect_sums(figures);
}

TEST(Timeline, GapIsCutAtSlotReadyAndCopyEnd) {
    GapAttribution attribute;
    StepTimes step;
    step.ready_ns = 1'000;
    step.copy_end_ns = 1'300;
    step.start_ns = 1'350;
    step.end_ns = 2'000;
    // Slot at 200; queued to 300; opened to 400; read to 800; decoded to 900; then nobody knows, to 1000.
    const std::vector<RequestTrace> trace{{300, 400, 800, 900, 16}};
    const Causes causes = attribute(100, step, 200, trace);
    EXPECT_NEAR(causes[Cause::staging], 100, kExact);
    EXPECT_NEAR(causes[Cause::read], 100 + 400, kExact);
    EXPECT_NEAR(causes[Cause::open], 100, kExact);
    EXPECT_NEAR(causes[Cause::decode], 100, kExact);
    EXPECT_NEAR(causes[Cause::other], 100, kExact);
    EXPECT_NEAR(causes[Cause::h2d], 300, kExact);
    EXPECT_NEAR(causes[Cause::sync], 50, kExact);
}

TEST(Timeline, InstantsAreSharedByOutstandingSamples) {
    GapAttribution attribute;
    StepTimes step;
    step.ready_ns = 100;
    step.copy_end_ns = 100;
    step.start_ns = 100;
    // Three samples in one run are read for 100 ns, one opens for 100 ns; the third request was over before the gap.
    const std::vector<RequestTrace> trace{{-10, -10, 100, 100, 3}, {-10, 100, 100, 100, 1}, {-50, -40, -30, -20, 9}};
    const Causes causes = attribute(0, step, -60, trace);
    EXPECT_NEAR(causes[Cause::read], 75, kExact);
    EXPECT_NEAR(causes[Cause::open], 25, kExact);
    EXPECT_NEAR(causes.total(), 100, kExact);
}

TEST(Timeline, BatchReadyBeforeTheGapChargesOnlyTheCopy) {
    GapAttribution attribute;
    StepTimes step;
    step.ready_ns = 50;
    step.copy_end_ns = 170;
    step.start_ns = 170;
    const Causes causes = attribute(100, step, 10, {});
    EXPECT_NEAR(causes[Cause::h2d], 70, kExact);
    EXPECT_NEAR(causes.total(), 70, kExact);
}

TEST(Timeline, NoGapNoCause) {
    GapAttribution attribute;
    StepTimes step;
    step.ready_ns = 500;
    step.copy_end_ns = 600;
    step.start_ns = 700;
    EXPECT_EQ(attribute(700, step, 0, {}).total(), 0);
    EXPECT_EQ(attribute(701, step, 0, {}).total(), 0);
}

TEST(Timeline, GapOfAnEmptyBatchCannotBePlaced) {
    GapAttribution attribute;
    StepTimes step;
    step.ready_ns = 100;
    step.copy_end_ns = 110;
    step.start_ns = 110;
    const Causes causes = attribute(0, step, 0, {});
    EXPECT_NEAR(causes[Cause::other], 100, kExact);
    EXPECT_NEAR(causes[Cause::h2d], 10, kExact);
}

TEST(Timeline, ShortLastBatchTakesTheFullStep) {
    Recurrence device(8, 0, 1'000);
    Timeline timeline(0);
    timeline.begin(0);
    timeline.add(device.next(500), 0, std::vector<RequestTrace>{{0, 0, 500, 500, 256}});
    timeline.add(device.next(600), 0, std::vector<RequestTrace>{{0, 0, 600, 600, 1}});
    const IdleFigures figures = timeline.figures();
    EXPECT_EQ(figures.busy_ns, 2'000);
    EXPECT_EQ(figures.t1_ns, 2'500);
    EXPECT_NEAR(figures.fraction, 0.2, kFraction);
}

TEST(Timeline, NothingRan) {
    Timeline timeline(0);
    timeline.begin(42);
    const IdleFigures figures = timeline.figures();
    EXPECT_EQ(figures.steps, 0U);
    EXPECT_EQ(figures.fraction, 0);
    EXPECT_FALSE(figures.steady_fraction);
    EXPECT_FALSE(figures.mlperf_utilization);
    EXPECT_FALSE(figures.drift);
    EXPECT_EQ(figures.by_cause.total(), 0);
}

TEST(Timeline, OneStepHasNoSteadyState) {
    Recurrence device(8, 0, 1'000);
    Timeline timeline(0);
    timeline.begin(0);
    timeline.add(device.next(1'000), 0, {});
    const IdleFigures figures = timeline.figures();
    EXPECT_NEAR(figures.fraction, 0.5, kFraction);
    EXPECT_FALSE(figures.steady_fraction);
    EXPECT_FALSE(figures.mlperf_utilization);
}

TEST(Timeline, WarmupStepsLeaveTheSteadyStateAlone) {
    // Two steps after gaps of 9 ms, then a gap of 1 ms before each step of 1 ms.
    constexpr Nanoseconds kMs = 1'000'000;
    for (const std::uint64_t warmup : {0U, 1U, 2U, 3U}) {
        Recurrence device(8, 0, kMs);
        Timeline timeline(warmup);
        timeline.begin(0);
        for (const Nanoseconds ready : {9, 19, 21, 23, 25}) timeline.add(device.next(ready * kMs), 0, {});
        const IdleFigures figures = timeline.figures();
        EXPECT_NEAR(figures.fraction, 21.0 / 26.0, kFraction);
        // w = max(1, warm-up): without warm-up steps the second gap is still part of it.
        EXPECT_NEAR(figures.steady_fraction.value(), warmup < 2 ? 12.0 / 16.0 : 0.5, kFraction) << warmup;
        EXPECT_NEAR(figures.mlperf_utilization.value(), 4.0 / 16.0, kFraction);  // knows of no warm-up
        EXPECT_NEAR(figures.steady_by_cause.total(), warmup < 2 ? 12e6 : warmup == 2 ? 3e6 : 2e6, kExact) << warmup;
        EXPECT_EQ(figures.steady_steps, warmup < 2 ? 4U : 5U - warmup);
        EXPECT_NEAR(figures.first_fill_ns, 9e6, kExact);
        EXPECT_EQ(figures.end_wait_ns, 0);
    }
}

TEST(Timeline, DriftComparesTheHalvesByRate) {
    constexpr Nanoseconds kMs = 1'000'000;
    Recurrence device(8, 0, kMs);
    Timeline timeline(0);
    timeline.begin(0);
    Nanoseconds ready = 0;
    // One step to begin with, ten at 2 ms, ten at 4 ms.
    timeline.add(device.next(ready), 0, {});
    for (int i = 0; i < 10; ++i) timeline.add(device.next(ready += 2 * kMs), 0, {});
    for (int i = 0; i < 10; ++i) timeline.add(device.next(ready += 4 * kMs), 0, {});
    EXPECT_NEAR(timeline.figures().drift.value(), -0.5, kFraction);
}

TEST(Timeline, OverlappingClocksCountNothingTwice) {
    Timeline timeline(0);
    timeline.begin(1'000);
    StepTimes step{
        .index = 0, .ready_ns = 900, .copy_start_ns = 900, .copy_end_ns = 950, .start_ns = 990, .end_ns = 2'000};
    timeline.add(step, 900, {});
    step.start_ns = 1'995;
    step.end_ns = 3'000;
    timeline.add(step, 900, {});
    const IdleFigures figures = timeline.figures();
    EXPECT_EQ(figures.busy_ns, 2'000);
    EXPECT_EQ(figures.fraction, 0);
}

TEST(Timeline, BeginForgetsTheEpochBefore) {
    Recurrence device(8, 0, 1'000);
    Timeline timeline(2);
    timeline.begin(0);
    timeline.add(device.next(1'000), 0, {});
    timeline.begin(10'000);
    EXPECT_EQ(timeline.figures().steps, 0U);
    EXPECT_EQ(timeline.last_end_ns(), 10'000);
    EXPECT_TRUE(timeline.step_ends().empty());
}

TEST(Timeline, SeveralDevicesAreAveragedAndWaitForTheLast) {
    std::vector<Timeline> devices(2, Timeline(0));
    for (Timeline& device : devices) device.begin(0);
    // First: steps [100, 200], [200, 300]; second: [150, 250], [400, 500].
    const auto step = [](Nanoseconds ready, Nanoseconds start) {
        return StepTimes{.index = 0,
                         .ready_ns = ready,
                         .copy_start_ns = ready,
                         .copy_end_ns = ready,
                         .start_ns = start,
                         .end_ns = start + 100};
    };
    const auto reading = [](Nanoseconds until) { return std::vector<RequestTrace>{{0, 0, until, until, 1}}; };
    devices[0].add(step(100, 100), 0, reading(100));
    devices[0].add(step(150, 200), 0, reading(150));
    devices[1].add(step(150, 150), 0, reading(150));
    devices[1].add(step(400, 400), 0, reading(400));
    const IdleFigures figures = combine_all(devices);
    EXPECT_EQ(figures.t1_ns, 500);
    EXPECT_EQ(figures.steps, 4U);
    EXPECT_NEAR(figures.busy_ns, 200, kExact);
    EXPECT_NEAR(figures.fraction, 300.0 / 500.0, kFraction);
    EXPECT_NEAR(figures.by_cause[Cause::sync], 200 / 2.0, kExact);  // the first one waits for the second's end
    EXPECT_NEAR(figures.by_cause[Cause::read], (100 + 300) / 2.0, kExact);
    EXPECT_NEAR(figures.end_wait_ns, 200 / 2.0, kExact);
    EXPECT_NEAR(figures.first_fill_ns, (100 + 150) / 2.0, kExact);
    EXPECT_EQ(figures.steady_steps, 2U);
    EXPECT_NEAR(figures.steady_by_cause[Cause::sync], 0, kExact) << "the wait at the end is no steady state";
    EXPECT_NEAR(figures.steady_by_cause[Cause::read], 150 / 2.0, kExact);
    EXPECT_NEAR(figures.steady_fraction.value(), (0.0 + 0.6) / 2, kFraction);
    EXPECT_NEAR(figures.mlperf_utilization.value(), (1.0 + 0.4) / 2, kFraction);
    expect_sums(figures);
}

TEST(Timeline, DeviceWithoutAStepIsIdleThroughout) {
    std::vector<Timeline> devices(2, Timeline(0));
    for (Timeline& device : devices) device.begin(0);
    devices[0].add({.index = 0, .ready_ns = 50, .copy_start_ns = 50, .copy_end_ns = 50, .start_ns = 50, .end_ns = 100},
                   0, {});
    const IdleFigures figures = combine_all(devices);
    EXPECT_NEAR(figures.fraction, 0.75, kFraction);
    EXPECT_NEAR(figures.by_cause[Cause::sync], 50, kExact);
    expect_sums(figures);
}

TEST(Timeline, NamesOfCauses) {
    EXPECT_EQ(to_string(Cause::open), "open");
    EXPECT_EQ(to_string(Cause::other), "other");
    EXPECT_EQ(to_string(Cause::h2d), "h2d");
}

}  // namespace
}  // namespace feedline
