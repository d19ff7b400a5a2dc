// Epochs that are cut short, by a time limit or an interrupt: what had happened by the cut counts, and nothing else.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "tests/bench/pipeline_rig.h"

namespace feedline {
namespace {

using namespace test;

// How the cut comes about, and whether the device tells its times ahead or only when they are over.
struct Way {
    const char* name;
    bool interrupt;
    bool late_device;
};

class PipelineCut : public testing::TestWithParam<Way> {
protected:
    // Of `script` the source hands out what comes before `block_at`, and hangs; then it is T0 + cut_ns.
    EpochOutcome run_until(Nanoseconds cut_ns, std::vector<ScriptedBatch> script, std::uint64_t block_at,
                           unsigned accelerators = 1, DeliveryAudit* audit = nullptr) {
        const bool interrupt = GetParam().interrupt;
        if (!interrupt) rig_.options.duration_ns = cut_ns;
        rig_.options.clock = &wall_;  // the devices' own jumps to the end of every copy
        for (unsigned i = 0; i < accelerators; ++i) {
            auto device = make_emulated_device(rig_.device, rig_.clock);
            if (GetParam().late_device) device = std::make_unique<LateDevice>(std::move(device));
            rig_.devices.push_back(std::move(device));
        }
        ScriptedSource source(std::move(script),
                              {.first_issue_ns = kT0, .block_at = block_at, .on_next = [&](std::uint64_t index) {
                                   if (index != block_at) return;
                                   // A time limit is noticed late, and counts all the same.
                                   wall_.advance_to(kT0 + cut_ns + (interrupt ? 0 : 7 * kMs));
                                   if (interrupt) rig_.interrupt.request();
                               }});
        EpochOutcome outcome = rig_.run(source, 0, audit);
        EXPECT_EQ(outcome.partial, interrupt);
        EXPECT_EQ(outcome.idle.t0_ns, kT0);
        // What is missing to the cut is the part of steps whose samples do not count.
        EXPECT_NEAR(
            static_cast<double>(outcome.idle.t1_ns - kT0) + (outcome.steps > 0 ? outcome.idle.unfinished_ns : 0),
            static_cast<double>(cut_ns), 1);
        EXPECT_EQ(outcome.step_ns.size(), outcome.steps);
        EXPECT_EQ(outcome.idle.steps, outcome.steps);
        EXPECT_EQ(outcome.samples, outcome.steps * kBatchSamples);
        EXPECT_EQ(outcome.payload_bytes, outcome.steps * 4000);
        expect_sums(outcome.idle);
        return outcome;
    }

    Rig rig_;
    ManualClock wall_{kT0};
};

TEST_P(PipelineCut, InAStepWhosePartCountsNowhere) {
    // Steps [5, 25], [25, 45], [45, 65], [65, 85]; all four batches were handed over.
    rig_.device.step_ns = 20 * kMs;
    DeliveryAudit audit(100);
    const EpochOutcome outcome = run_until(50 * kMs, constant_rate(10, 5 * kMs), 4, 1, &audit);
    EXPECT_EQ(outcome.steps, 2U);
    EXPECT_NEAR(outcome.idle.busy_ns, 40e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 5e6, kExact);
    EXPECT_NEAR(outcome.idle.unfinished_ns, 5e6, kExact);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 45 * kMs);
    EXPECT_NEAR(outcome.idle.fraction, 5.0 / 45, kFraction);
    EXPECT_EQ(outcome.idle.last_end_ns, kT0 + 45 * kMs);
    EXPECT_NEAR(outcome.idle.mlperf_utilization.value(), 1, kFraction);  // of whole steps
    EXPECT_EQ(outcome.step_ns, (std::vector<Nanoseconds>{25 * kMs, 20 * kMs}));
    EXPECT_EQ(outcome.handed_over_batches, 4U);
    EXPECT_TRUE(audit.once(4 * kBatchSamples));
}

TEST_P(PipelineCut, InAStepThatBeganAfterAStall) {
    // Steps [5, 7] [10, 12] [15, 17]; the fourth is [90, 92]. What the accelerator waited for it counts.
    rig_.device.step_ns = 2 * kMs;
    std::vector<ScriptedBatch> script = constant_rate(4, 5 * kMs);
    script[3] = read_batch(3, kT0 + 15 * kMs, kT0 + 90 * kMs);
    const EpochOutcome outcome = run_until(91 * kMs, script, 4);
    EXPECT_EQ(outcome.steps, 3U);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 90 * kMs);
    EXPECT_NEAR(outcome.idle.busy_ns, 6e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 84e6, kExact);
}

// Wherever it falls: an accelerator that is always busy, but for its first fill, shows its own rate.
TEST_P(PipelineCut, AnywhereRateAndTimeAreOfTheSameSteps) {
    const Nanoseconds cut_ms =
        25 + 7 * static_cast<Nanoseconds>(GetParam().interrupt) + 4 * static_cast<Nanoseconds>(GetParam().late_device);
    rig_.device.step_ns = 20 * kMs;
    const EpochOutcome outcome = run_until(cut_ms * kMs, constant_rate(10, 5 * kMs), 4);
    const double seconds = static_cast<double>(outcome.idle.t1_ns - outcome.idle.t0_ns) * 1e-9;
    EXPECT_NEAR(static_cast<double>(outcome.steps) * 0.020, seconds * (1 - outcome.idle.fraction), kFraction);
}

// No step is over, so there is no rate, and what the time went to is told.
TEST_P(PipelineCut, InTheFirstStep) {
    rig_.device.step_ns = 60'000 * kMs;
    const EpochOutcome outcome = run_until(2'000 * kMs, constant_rate(4, 5 * kMs), 3);
    EXPECT_EQ(outcome.steps, 0U);
    EXPECT_NEAR(outcome.idle.fraction, 5.0 / 2'000, kFraction);
    EXPECT_FALSE(outcome.idle.steady_fraction);
}

TEST_P(PipelineCut, WhatFailedInStepsThatDoNotCountDoesNotCount) {
    // Steps [5, 25], [25, 45], [45, 65]; a sample of each was skipped.
    rig_.device.step_ns = 20 * kMs;
    std::vector<ScriptedBatch> script = constant_rate(10, 5 * kMs);
    for (ScriptedBatch& batch : script) {
        batch.samples.push_back({.id = 90, .status = SampleStatus::skipped});
        batch.failures = {{"vanished", 1, "/data/90"}};
    }
    const EpochOutcome outcome = run_until(50 * kMs, script, 4);
    EXPECT_EQ(outcome.steps, 2U);
    EXPECT_EQ(outcome.skipped_samples, 2U);
    ASSERT_EQ(outcome.failures.size(), 1U);
    EXPECT_EQ(outcome.failures[0].kind, "vanished");
    EXPECT_EQ(outcome.failures[0].count, 2U);
}

TEST_P(PipelineCut, AtTheVeryEndOfAStep) {
    rig_.device.step_ns = 20 * kMs;
    const EpochOutcome outcome = run_until(45 * kMs, constant_rate(10, 5 * kMs), 4);
    EXPECT_EQ(outcome.steps, 2U);
    EXPECT_NEAR(outcome.idle.busy_ns, 40e6, kExact);
}

TEST_P(PipelineCut, WhileTheLoaderHangs) {
    // Steps of 2 ms end at 7, 12, ... 32; the seventh batch had its slot at 30.
    rig_.device.step_ns = 2 * kMs;
    const EpochOutcome outcome = run_until(133 * kMs, constant_rate(10, 5 * kMs), 6);
    EXPECT_EQ(outcome.steps, 6U);
    EXPECT_NEAR(outcome.idle.busy_ns, 12e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 121e6, kExact);
    // The steady figures are of whole steps: from the end of the first, at 7, to the end of the last, at 32.
    EXPECT_NEAR(outcome.idle.steady_fraction.value(), 15.0 / 25.0, kFraction);
}

TEST_P(PipelineCut, WhileTheLoaderHasNoSlot) {
    rig_.device.step_ns = 2 * kMs;
    std::vector<ScriptedBatch> script = constant_rate(10, 5 * kMs);
    script[6].slot_ns = kT0 + 60 * kMs;
    const EpochOutcome outcome = run_until(133 * kMs, script, 6);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::staging], 28e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 20e6 + 73e6, kExact);
}

TEST_P(PipelineCut, InACopy) {
    // Ready at 5 and 25, copied at 15 and 35, steps [15, 17] and [35, 37].
    rig_.device.step_ns = 2 * kMs;
    rig_.device.h2d_latency_ns = 10 * kMs;
    const EpochOutcome outcome =
        run_until(31 * kMs, {read_batch(0, kT0, kT0 + 5 * kMs), read_batch(1, kT0, kT0 + 25 * kMs)}, 2);
    EXPECT_EQ(outcome.steps, 1U);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 5e6 + 8e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::h2d], 10e6 + 6e6, kExact);
}

TEST_P(PipelineCut, BeforeTheFirstBatch) {
    const EpochOutcome outcome = run_until(40 * kMs, constant_rate(4, 5 * kMs), 0);
    EXPECT_EQ(outcome.steps, 0U);
    EXPECT_EQ(outcome.idle.fraction, 1);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 40e6, kExact);
}

TEST_P(PipelineCut, OnSeveralDevices) {
    // Batches at 3, 6, 9, 12, 15; steps [3, 23] [23, 43] on the first, [6, 26] [26, 46] on the second, [9, 29] on the
    // third, which then waits for the batch that hangs.
    rig_.device.step_ns = 20 * kMs;
    DeliveryAudit audit(100);
    const EpochOutcome outcome = run_until(36 * kMs, constant_rate(9, 3 * kMs), 5, 3, &audit);
    EXPECT_EQ(outcome.steps, 3U);
    EXPECT_NEAR(outcome.idle.busy_ns, 20e6, kExact);
    EXPECT_NEAR(outcome.idle.unfinished_ns, (13e6 + 10e6 + 0) / 3, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::staging], (0 + 3e6 + 6e6) / 3, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], (3e6 + 3e6 + 3e6 + 7e6) / 3, kExact);
    EXPECT_EQ(outcome.step_ns, (std::vector<Nanoseconds>{23 * kMs, 26 * kMs, 29 * kMs}));
    EXPECT_TRUE(audit.once(5 * kBatchSamples));
}

TEST_P(PipelineCut, OnTwoDevicesOfWhichTheFirstHasNoStepYet) {
    // The first batch is copied for 100 ms, the second at once.
    rig_.device.step_ns = 20 * kMs;
    rig_.device.h2d_bytes_per_second = 1e6;
    std::vector<ScriptedBatch> script = constant_rate(4, 3 * kMs);
    script[0].bytes = 100'000;
    script[1].bytes = 0;
    const EpochOutcome outcome = run_until(50 * kMs, script, 2, 2);
    EXPECT_EQ(outcome.steps, 1U);
    EXPECT_EQ(outcome.step_ns, std::vector<Nanoseconds>{26 * kMs});
    EXPECT_NEAR(outcome.idle.by_cause[Cause::h2d], 47e6 / 2, kExact);
    EXPECT_EQ(outcome.h2d_bytes, 0U);
}

INSTANTIATE_TEST_SUITE_P(Ways, PipelineCut,
                         testing::Values(Way{"limit", false, false}, Way{"limit_late", false, true},
                                         Way{"interrupt", true, false}, Way{"interrupt_late", true, true}),
                         [](const auto& tested) { return tested.param.name; });

TEST(PipelineLimit, LeavesLaterBatchesOutAndChargesTheGapToWhatTheyWereIn) {
    // Steps of 1 ms at 3, 6, ... 48; the batch of 51 was opened from 48 to 50.
    Rig rig;
    rig.device.step_ns = kMs;
    rig.options.duration_ns = 50 * kMs;
    std::vector<ScriptedBatch> script = constant_rate(100, 3 * kMs);
    script[16] = read_batch(16, kT0 + 48 * kMs, kT0 + 51 * kMs, 2 * kMs);
    ScriptedSource source(std::move(script), {.first_issue_ns = kT0, .slots = 8, .clock = &rig.clock});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, 16U);
    EXPECT_FALSE(outcome.partial);
    EXPECT_TRUE(source.stopped());
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 50 * kMs);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::open], 1e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 3e6 + 15 * 2e6, kExact);
    expect_sums(outcome.idle);
}

TEST(PipelineLimit, CutsStepsThatLieAheadWhenTheSourceHasEnded) {
    // Steps [3, 23] [23, 43] and [6, 26]: the second device waits for the first.
    Rig rig;
    rig.device.step_ns = 20 * kMs;
    rig.options.duration_ns = 36 * kMs;
    ScriptedSource source(constant_rate(3, 3 * kMs), {.first_issue_ns = kT0});
    const EpochOutcome outcome = rig.run(source, 2);
    EXPECT_EQ(outcome.steps, 2U);
    EXPECT_FALSE(outcome.partial);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + (23 * kMs + 36 * kMs) / 2);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::sync], 10e6 / 2, kExact);
    EXPECT_NEAR(outcome.idle.busy_ns, 20e6, kExact);
    expect_sums(outcome.idle);
}

TEST(PipelineLimit, ChangesNothingWhenAllIsOverBefore) {
    Rig rig;
    rig.device.step_ns = 20 * kMs;
    rig.options.duration_ns = 43 * kMs;
    ScriptedSource source(constant_rate(3, 3 * kMs), {.first_issue_ns = kT0});
    const EpochOutcome outcome = rig.run(source, 2);
    EXPECT_EQ(outcome.steps, 3U);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 43 * kMs);
}

TEST(PipelineLimit, CutsTheLastOfANumberOfStepsToo) {
    Rig rig;
    rig.device.step_ns = 20 * kMs;
    rig.options.max_steps = 4;
    rig.options.duration_ns = 50 * kMs;
    ScriptedSource source(constant_rate(100, 5 * kMs), {.first_issue_ns = kT0});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, 2U);
    EXPECT_EQ(outcome.handed_over_batches, 4U);
    EXPECT_NEAR(outcome.idle.busy_ns, 40e6, kExact);
}

// On the real clock, with steps or copies of an hour: whoever waits for one of them runs into the test's time limit.
struct HourLong {
    Nanoseconds step_ns = 0;
    Nanoseconds copy_ns = 10'000;
    std::uint64_t batches = 8;
    unsigned host_slots = 0;
    Nanoseconds duration_ns = 0;
};
constexpr Nanoseconds kHour = 3600 * kNanosecondsPerSecond;

EpochOutcome run(const HourLong& what, Interrupt& interrupt, std::function<void(std::uint64_t)> on_next = {}) {
    MonotonicClock clock;
    DeviceOptions device;
    device.step_ns = what.step_ns;
    device.h2d_latency_ns = what.copy_ns;
    device.h2d_bytes_per_second = 1e30;
    device.slots = 2;
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(make_emulated_device(device, clock));
    const Nanoseconds t0 = clock.now();
    std::vector<ScriptedBatch> script;
    for (std::uint64_t i = 0; i < what.batches; ++i) script.push_back(read_batch(i, t0, t0));
    ScriptedSource source(std::move(script),
                          {.first_issue_ns = t0, .slots = what.host_slots, .on_next = std::move(on_next)});
    PipelineOptions options;
    options.max_batch_bytes = 1U << 20U;
    options.duration_ns = what.duration_ns;
    EpochOutcome outcome = run_epoch(source, devices, options, nullptr, interrupt);
    EXPECT_EQ(outcome.steps, 0U);
    EXPECT_EQ(outcome.samples, 0U);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::h2d], outcome.idle.idle_ns, kExact);
    EXPECT_LE(outcome.idle.t1_ns, clock.now());
    return outcome;
}

TEST(PipelineCutInTime, InterruptDoesNotWaitForStepsThatLieAhead) {
    // Four batches are on their way (two in the device, two in host slots) when next() waits for a slot.
    Interrupt interrupt;
    const EpochOutcome outcome =
        run({.step_ns = kHour, .batches = 8, .host_slots = 2}, interrupt, [&](std::uint64_t index) {
            if (index == 4) interrupt.request();
        });
    EXPECT_TRUE(outcome.partial);
    EXPECT_EQ(outcome.handed_over_batches, 4U);
    EXPECT_LE(outcome.idle.idle_ns, 10'000);  // the first copy
}

TEST(PipelineCutInTime, InterruptDoesNotWaitForTheLastSteps) {
    // The source has ended and the steps have not.
    Interrupt interrupt;
    const EpochOutcome outcome = run({.step_ns = kHour, .batches = 4}, interrupt, [&](std::uint64_t index) {
        if (index == 4) interrupt.request();
    });
    EXPECT_TRUE(outcome.partial);
    EXPECT_LE(outcome.idle.idle_ns, 10'000);
}

TEST(PipelineCutInTime, LimitDoesNotWaitForSteps) {
    for (const unsigned host_slots : {0U, 2U}) {
        Interrupt never;
        const EpochOutcome outcome = run({.step_ns = kHour, .host_slots = host_slots, .duration_ns = 20 * kMs}, never);
        EXPECT_FALSE(outcome.partial);
        EXPECT_EQ(outcome.idle.t1_ns - outcome.idle.t0_ns, 20 * kMs);
        EXPECT_NEAR(outcome.idle.idle_ns, 10'000, kExact);
    }
}

TEST(PipelineCutInTime, LimitDoesNotWaitForCopies) {
    for (const unsigned host_slots : {0U, 2U}) {
        Interrupt never;
        const EpochOutcome outcome = run({.copy_ns = kHour, .host_slots = host_slots, .duration_ns = 20 * kMs}, never);
        EXPECT_FALSE(outcome.partial);
        EXPECT_EQ(outcome.idle.fraction, 1);
    }
}

TEST(PipelineCutInTime, InterruptBeforeAnythingWasIssued) {
    Rig rig;
    ScriptedSource source(
        {}, {.first_issue_ns = 0, .block_at = 0, .on_next = [&](std::uint64_t) { rig.interrupt.request(); }});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, 0U);
    EXPECT_EQ(outcome.idle.fraction, 0);
}

// Is still beginning its epoch when the cut comes, and forgets it, as device.h allows. cut() returns when it is clear
// what comes then.
class CutWhileItBegins final : public Wrapper {
public:
    using Wrapper::Wrapper;
    void begin_epoch(std::uint64_t max_batch_bytes) override {
        begins_();
        was_cut_.wait(false);
        Wrapper::begin_epoch(max_batch_bytes);
    }
    void enqueue(std::uint64_t index, const std::byte* data, std::uint64_t bytes, Nanoseconds ready_ns) override {
        enqueued_ = true;
        go_on();
        Wrapper::enqueue(index, data, bytes, ready_ns);
    }
    void drain() override {
        go_on();
        Wrapper::drain();
    }
    void cut() override {
        Wrapper::cut();
        was_cut_ = true;
        was_cut_.notify_all();
        went_on_.wait(false);
    }

    void on_begin(std::function<void()> begins) { begins_ = std::move(begins); }
    bool enqueued() const { return enqueued_; }

private:
    void go_on() {
        went_on_ = true;
        went_on_.notify_all();
    }

    std::function<void()> begins_;
    std::atomic<bool> was_cut_{false};
    std::atomic<bool> went_on_{false};
    std::atomic<bool> enqueued_{false};
};

TEST(PipelineCutInTime, ADeviceThatBeginsItsEpochJustThenGetsNoBatch) {
    Rig rig;
    rig.options.duration_ns = 20 * kMs;
    auto device = std::make_unique<CutWhileItBegins>(make_emulated_device(rig.device, rig.clock));
    device->on_begin([&] { rig.clock.advance_to(kT0 + 30 * kMs); });
    const CutWhileItBegins& watched = *device;
    rig.devices.push_back(std::move(device));
    ScriptedSource source(constant_rate(4, kMs), {.first_issue_ns = kT0});
    const EpochOutcome outcome = rig.run(source, 0);
    EXPECT_FALSE(watched.enqueued());
    EXPECT_EQ(outcome.steps, 0U);
}

TEST(PipelineProgress, DoesNotCountStepsThatLieAhead) {
    // Steps [5, 1005], [1005, 2005], ...; it is 1505.
    Rig rig;
    rig.device.step_ns = 1'000 * kMs;
    ManualClock wall(kT0);
    rig.options.clock = &wall;
    std::optional<Progress> seen;
    rig.options.progress = [&](const Progress& progress) {
        if (progress.elapsed_ns == 1'505 * kMs) seen = progress;
        if (seen) rig.interrupt.request();
    };
    ScriptedSource source(constant_rate(10, 5 * kMs),
                          {.first_issue_ns = kT0, .block_at = 6, .on_next = [&](std::uint64_t index) {
                               if (index == 6) wall.advance_to(kT0 + 1'505 * kMs);
                           }});
    const EpochOutcome outcome = rig.run(source);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->steps, 1U);
    EXPECT_EQ(seen->samples, kBatchSamples);
    EXPECT_EQ(seen->bytes, 4000U);
    EXPECT_NEAR(seen->idle_fraction, 5.0 / 1'505, kFraction);
    EXPECT_EQ(outcome.steps, 1U);
    EXPECT_TRUE(outcome.partial);
}

TEST(PipelineRaw, StepsAreAsLongAsTheyWere) {
    // More than 32 bits of nanoseconds hold.
    Rig rig;
    rig.device.step_ns = 60 * kNanosecondsPerSecond;
    ScriptedSource source(constant_rate(3, 5 * kMs), {.first_issue_ns = kT0, .slots = 8});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.step_ns, (std::vector<Nanoseconds>{60'005 * kMs, 60'000 * kMs, 60'000 * kMs}));
}

}  // namespace
}  // namespace feedline
