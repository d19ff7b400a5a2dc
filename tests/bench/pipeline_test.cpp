// The whole epoch with a loader that follows a script: figures must equal the analytic ones, whatever the threads do.
#include "bench/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "core/error.h"
#include "tests/bench/pipeline_rig.h"

namespace feedline {
namespace {

using namespace test;

// Read 4 ms, 1 of it opening, once the copy of the batch before, 1 ms, has freed the only slot.
std::vector<ScriptedBatch> one_slot(std::uint64_t batches) {
    std::vector<ScriptedBatch> script;
    for (std::uint64_t i = 0; i < batches; ++i) {
        const Nanoseconds slot_ns = kT0 + static_cast<Nanoseconds>(i) * 5 * kMs;
        script.push_back(read_batch(i, slot_ns, slot_ns + 4 * kMs, kMs));
    }
    return script;
}

std::vector<std::uint64_t> first_indices(std::uint64_t count) {
    std::vector<std::uint64_t> indices(count);
    for (std::uint64_t i = 0; i < count; ++i) indices[i] = i;
    return indices;
}

TEST(Pipeline, SlowLoader) {
    constexpr std::uint64_t kBatches = 100;
    Rig rig;
    rig.device.step_ns = 2 * kMs;
    ScriptedSource source(constant_rate(kBatches, 5 * kMs), {.first_issue_ns = kT0, .slots = 8});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, kBatches);
    EXPECT_EQ(outcome.samples, kBatches * kBatchSamples);
    EXPECT_EQ(outcome.payload_bytes, kBatches * 4000);
    EXPECT_EQ(outcome.h2d_bytes, kBatches * 4096);
    EXPECT_EQ(outcome.padding_bytes, kBatches * 96);
    EXPECT_FALSE(outcome.partial);
    EXPECT_EQ(outcome.idle.t0_ns, kT0);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 502 * kMs);
    EXPECT_NEAR(outcome.idle.fraction, 302.0 / 502.0, kFraction);
    EXPECT_NEAR(outcome.idle.steady_fraction.value(), 0.6, kFraction);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 302e6, kExact);
    expect_sums(outcome.idle);
    EXPECT_EQ(source.released(), first_indices(kBatches));
    ASSERT_EQ(outcome.step_ns.size(), kBatches);
    EXPECT_EQ(outcome.step_ns[0], 7 * kMs);
    EXPECT_EQ(outcome.step_ns[99], 5 * kMs);
    EXPECT_GE(rig.clock.now(), outcome.idle.t1_ns) << "the epoch was not drained";
}

TEST(Pipeline, FastLoaderIdlesOnlyForTheFirstFill) {
    constexpr std::uint64_t kBatches = 200;
    Rig rig;
    rig.device.step_ns = 2 * kMs;
    rig.device.h2d_latency_ns = kMs / 2;
    ScriptedSource source(constant_rate(kBatches, kMs), {.first_issue_ns = kT0, .slots = 8});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_NEAR(outcome.idle.fraction, 1.5 / 401.5, kFraction);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 1e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::h2d], 0.5e6, kExact);
    EXPECT_NEAR(outcome.idle.mlperf_utilization.value(), 1, kFraction);
    expect_sums(outcome.idle);
}

TEST(Pipeline, SlowCopies) {
    constexpr std::uint64_t kBatches = 50;
    Rig rig;
    rig.device.step_ns = 2 * kMs;
    rig.device.h2d_latency_ns = 3 * kMs;
    ScriptedSource source(constant_rate(kBatches, kMs), {.first_issue_ns = kT0, .slots = 8});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::h2d], 3e6 + 49 * 1e6, kExact);
    EXPECT_NEAR(outcome.idle.steady_fraction.value(), 1.0 / 3.0, kFraction);
    expect_sums(outcome.idle);
}

TEST(Pipeline, OneSlotWaitsForEveryCopy) {
    constexpr std::uint64_t kBatches = 40;
    Rig rig;
    rig.device.step_ns = 2 * kMs;
    rig.device.h2d_latency_ns = kMs;
    rig.device.slots = 1;
    ScriptedSource source(one_slot(kBatches), {.first_issue_ns = kT0, .slots = 1});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + (kBatches * 5 + 2) * kMs);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::open], 1e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 3e6 + 39 * 2e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::h2d], 40 * 1e6, kExact);
    EXPECT_NEAR(outcome.idle.steady_fraction.value(), 0.6, kFraction);
    expect_sums(outcome.idle);
}

TEST(Pipeline, SerialCopiesAndStepsFollowEachOther) {
    constexpr std::uint64_t kBatches = 30;
    Rig rig;
    rig.device.step_ns = 2 * kMs;
    rig.device.h2d_latency_ns = 3 * kMs;
    rig.device.serial = true;
    ScriptedSource source(constant_rate(kBatches, kMs), {.first_issue_ns = kT0, .slots = 8});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + kMs + kBatches * 5 * kMs);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::h2d], 30 * 3e6, kExact);
    EXPECT_NEAR(outcome.idle.steady_fraction.value(), 0.6, kFraction);
    expect_sums(outcome.idle);
}

TEST(Pipeline, BatchesGoRoundTheAccelerators) {
    // A batch every 3 ms for three devices with steps of 5 ms: each gets one every 9 ms.
    constexpr std::uint64_t kBatches = 300;
    Rig rig;
    rig.device.step_ns = 5 * kMs;
    ScriptedSource source(constant_rate(kBatches, 3 * kMs), {.first_issue_ns = kT0, .slots = 8});
    const EpochOutcome outcome = rig.run(source, 3);
    EXPECT_EQ(outcome.steps, kBatches);
    EXPECT_EQ(outcome.idle.steps, kBatches);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 905 * kMs);
    EXPECT_NEAR(outcome.idle.busy_ns, 100 * 5e6, kExact);
    EXPECT_NEAR(outcome.idle.fraction, 405.0 / 905.0, kFraction);
    EXPECT_NEAR(outcome.idle.steady_fraction.value(), 4.0 / 9.0, kFraction);
    // The devices wait 6, 3 and 0 ms at the end for the last one.
    EXPECT_NEAR(outcome.idle.by_cause[Cause::sync], 3e6, kExact);
    // Before each step a device waits 4 ms: 1 while the script has no slot for its batch, 3 while that is read.
    EXPECT_NEAR(outcome.idle.by_cause[Cause::staging], 102e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::read], 300e6, kExact);
    expect_sums(outcome.idle);
    EXPECT_EQ(source.released(), first_indices(kBatches));
    EXPECT_EQ(outcome.step_ns[0], 8 * kMs);
    EXPECT_EQ(outcome.step_ns[2], 14 * kMs);
    EXPECT_EQ(outcome.step_ns[299], 9 * kMs);
}

TEST(Pipeline, WarmupStepsAreSharedByTheAccelerators) {
    // Two devices, two slow batches each, which three warm-up steps of the run (two of each device) leave out.
    Rig rig;
    rig.device.step_ns = kMs;
    rig.options.warmup_steps = 3;
    std::vector<ScriptedBatch> script;
    Nanoseconds ready_ns = kT0;
    for (std::uint64_t i = 0; i < 24; ++i) {
        const Nanoseconds slot_ns = ready_ns;
        ready_ns += i < 4 ? 50 * kMs : kMs;
        script.push_back(read_batch(i, slot_ns, ready_ns));
    }
    ScriptedSource source(std::move(script), {.first_issue_ns = kT0, .slots = 8});
    const EpochOutcome outcome = rig.run(source, 2);
    EXPECT_GT(outcome.idle.fraction, 0.9);
    // Device 1 goes on 1 ms after its last warm-up step, device 0 loses the 50 ms of batch 3 once.
    const double device_0 = 1 - 10.0 / (49 + 20 + 1);
    const double device_1 = 0.5;
    EXPECT_NEAR(outcome.idle.steady_fraction.value(), (device_0 + device_1) / 2, 0.02);
}

TEST(Pipeline, SlotsAreReleasedAheadWhereBothSidesCan) {
    for (const bool source_can : {false, true}) {
        for (const bool device_can : {false, true}) {
            Rig rig;
            rig.device.step_ns = 2 * kMs;
            rig.device.h2d_latency_ns = kMs;
            auto device = make_emulated_device(rig.device, rig.clock);
            if (!device_can) device = std::make_unique<LateDevice>(std::move(device));
            rig.devices.push_back(std::move(device));
            ScriptedSource source(constant_rate(3, 5 * kMs),
                                  {.first_issue_ns = kT0, .slots = 2, .waits_for_slots = source_can});
            const EpochOutcome outcome = rig.run(source, 0);
            EXPECT_EQ(outcome.idle.t1_ns, kT0 + 18 * kMs);
            EXPECT_EQ(source.released(), first_indices(3));
            std::vector<Nanoseconds> copied;
            if (source_can && device_can) copied = {kT0 + 6 * kMs, kT0 + 11 * kMs, kT0 + 16 * kMs};
            EXPECT_EQ(source.released_at(), copied);
        }
    }
}

TEST(Pipeline, LateWakingIsOversleepAndNotBusyTime) {
    constexpr std::uint64_t kBatches = 40;
    const auto run = [](Nanoseconds late_ns) {
        Rig rig;
        rig.device.step_ns = 2 * kMs;
        rig.device.h2d_latency_ns = kMs;
        rig.clock.oversleep(late_ns);
        // One slot: every copy is waited for before the next batch, so every wait is a sleep.
        ScriptedSource source(one_slot(kBatches), {.first_issue_ns = kT0, .slots = 1});
        return rig.run(source);
    };
    const EpochOutcome punctual = run(0);
    const EpochOutcome late = run(kMs / 4);
    EXPECT_EQ(punctual.oversleep_ns, 0);
    EXPECT_EQ(late.oversleep_ns, kBatches * kMs / 4);
    EXPECT_EQ(late.idle.t1_ns, punctual.idle.t1_ns);
    EXPECT_EQ(late.idle.busy_ns, punctual.idle.busy_ns);
    EXPECT_EQ(late.idle.by_cause.ns, punctual.idle.by_cause.ns);
}

TEST(Pipeline, EmptyBatchesAreSteps) {
    Rig rig;
    rig.device.step_ns = kMs;
    ScriptedBatch empty;
    empty.slot_ns = kT0;
    empty.ready_ns = kT0 + kMs;
    ScriptedSource source({empty}, {.first_issue_ns = 0, .slots = 8});  // nothing was ever read
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, 1U);
    EXPECT_EQ(outcome.samples, 0U);
    EXPECT_EQ(outcome.idle.t0_ns, kT0 + kMs);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 2 * kMs);
}

TEST(Pipeline, SourceWithoutABatch) {
    Rig rig;
    ScriptedSource source({}, {});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, 0U);
    EXPECT_EQ(outcome.idle.fraction, 0);
    EXPECT_FALSE(outcome.partial);
}

TEST(Pipeline, AuditSeesEverySample) {
    Rig rig;
    std::vector<ScriptedBatch> script = constant_rate(10, kMs);
    script[4].samples[1].status = SampleStatus::skipped;
    ScriptedSource source(std::move(script), {.first_issue_ns = kT0, .slots = 2});
    DeliveryAudit audit(10 * kBatchSamples);
    const EpochOutcome outcome = rig.run(source, 1, &audit);
    EXPECT_TRUE(audit.once(10 * kBatchSamples));
    EXPECT_EQ(outcome.samples, 10 * kBatchSamples - 1);
    EXPECT_EQ(outcome.skipped_samples, 1U);
}

TEST(Pipeline, AStepWhoseSamplesWereAllSkippedIsIdleTime) {
    // Steps [5, 25] [25, 45] [45, 65] [65, 85]; of the third batch nothing is left, of the second one sample is gone.
    Rig rig;
    rig.device.step_ns = 20 * kMs;
    std::vector<ScriptedBatch> script = constant_rate(4, 5 * kMs);
    script[1].samples[0].status = SampleStatus::skipped;
    for (SampleView& sample : script[2].samples) sample.status = SampleStatus::skipped;
    ScriptedSource source(std::move(script), {.first_issue_ns = kT0, .slots = 8});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, 4U);
    EXPECT_EQ(outcome.steps_without_samples, 1U);
    EXPECT_EQ(outcome.skipped_samples, kBatchSamples + 1);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 85 * kMs);
    EXPECT_NEAR(outcome.idle.busy_ns, 60e6, kExact);
    EXPECT_NEAR(outcome.idle.by_cause[Cause::other], 20e6, kExact);
    EXPECT_NEAR(outcome.idle.steady_fraction.value(), 20.0 / 60, kFraction);
    EXPECT_NEAR(outcome.idle.steady_by_cause.total(), 20e6, kExact);
    EXPECT_NEAR(outcome.idle.mlperf_utilization.value(), 40.0 / 60, kFraction);
    expect_sums(outcome.idle);
}

TEST(Pipeline, AuditSeesARepeatedBatch) {
    Rig rig;
    std::vector<ScriptedBatch> script = constant_rate(10, kMs);
    script[7].samples = script[2].samples;
    ScriptedSource source(std::move(script), {.first_issue_ns = kT0, .slots = 2});
    DeliveryAudit audit(10 * kBatchSamples);
    rig.run(source, 1, &audit);
    EXPECT_FALSE(audit.once(10 * kBatchSamples));
    EXPECT_EQ(audit.repeated(), kBatchSamples);
}

TEST(Pipeline, StepLimitStopsTheSource) {
    Rig rig;
    rig.device.step_ns = 2 * kMs;
    rig.options.max_steps = 7;
    ScriptedSource source(constant_rate(100, kMs), {.first_issue_ns = kT0, .slots = 8});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, 7U);
    EXPECT_FALSE(outcome.partial);
    EXPECT_TRUE(source.stopped());
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 15 * kMs);
    EXPECT_EQ(source.released(), first_indices(7));
}

TEST(Pipeline, ProgressIsToldWhileAReadHangs) {
    Rig rig;
    rig.device.step_ns = 2 * kMs;
    const std::thread::id caller = std::this_thread::get_id();
    std::vector<Progress> seen;
    rig.options.progress = [&](const Progress& progress) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        seen.push_back(progress);
        if (progress.steps == 6) {
            if (progress.elapsed_ns >= 3000 * kMs) rig.interrupt.request();
            rig.clock.advance_to(rig.clock.now() + 1000 * kMs);
        }
    };
    ScriptedSource source(constant_rate(10, 5 * kMs),
                          {.first_issue_ns = kT0, .slots = 8, .block_at = 6, .on_next = [&](std::uint64_t index) {
                               if (index == 6) rig.clock.advance_to(kT0 + 1000 * kMs);
                           }});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_TRUE(outcome.partial);
    ASSERT_GE(seen.size(), 3U);
    const Progress& last = seen.back();
    EXPECT_EQ(last.steps, 6U);
    EXPECT_EQ(last.samples, 6 * kBatchSamples);
    EXPECT_EQ(last.bytes, 6 * 4000U);
    EXPECT_NEAR(last.idle_fraction, 1 - 12e6 / static_cast<double>(last.elapsed_ns), kFraction);
    for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_GE(seen[i].elapsed_ns - seen[i - 1].elapsed_ns, 100 * kMs);
}

TEST(Pipeline, ErrorOfTheSourceIsRethrown) {
    Rig rig;
    ScriptedSource source(constant_rate(10, kMs), {.first_issue_ns = kT0, .slots = 8, .fail_at = 3});
    try {
        rig.run(source);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_EQ(error.path(), "/script");
    }
    EXPECT_TRUE(source.stopped());
}

TEST(Pipeline, ErrorOfTheProgressCallbackIsRethrown) {
    Rig rig;
    rig.options.progress = [](const Progress&) { throw Error(ErrorKind::internal, "terminal is gone"); };
    ScriptedSource source(constant_rate(10, kMs),
                          {.first_issue_ns = kT0, .slots = 8, .block_at = 5, .on_next = [&](std::uint64_t index) {
                               if (index == 5) rig.clock.advance_to(kT0 + 1000 * kMs);
                           }});
    EXPECT_THROW(rig.run(source), Error);
    EXPECT_TRUE(source.stopped());
}

class FailingDevice final : public Wrapper {
public:
    enum class Where { begin, enqueue, wait, drain };
    FailingDevice(std::unique_ptr<Device> inner, Where where) : Wrapper(std::move(inner)), where_(where) {}
    void begin_epoch(std::uint64_t max_batch_bytes) override {
        fail_if(Where::begin);
        Wrapper::begin_epoch(max_batch_bytes);
    }
    void enqueue(std::uint64_t index, const std::byte* data, std::uint64_t bytes, Nanoseconds ready_ns) override {
        if (index == 3) fail_if(Where::enqueue);
        Wrapper::enqueue(index, data, bytes, ready_ns);
    }
    Nanoseconds wait_copied(std::uint64_t index) override {
        if (index == 3) fail_if(Where::wait);
        return Wrapper::wait_copied(index);
    }
    void drain() override {
        fail_if(Where::drain);
        Wrapper::drain();
    }

private:
    void fail_if(Where where) const {
        if (where == where_) throw Error(ErrorKind::io, "device lost");
    }
    Where where_;
};

class PipelineDeviceError : public testing::TestWithParam<FailingDevice::Where> {};

TEST_P(PipelineDeviceError, IsRethrownAndNothingHangs) {
    Rig rig;
    rig.device.step_ns = kMs;
    rig.devices.push_back(std::make_unique<FailingDevice>(make_emulated_device(rig.device, rig.clock), GetParam()));
    // With two slots the source hangs for want of releases unless it is stopped.
    ScriptedSource source(constant_rate(10, kMs), {.first_issue_ns = kT0, .slots = 2});
    try {
        rig.run(source, 0);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("device lost"));
    }
    EXPECT_TRUE(source.stopped());
}

std::string name_of(const testing::TestParamInfo<FailingDevice::Where>& info) {
    static constexpr std::array kNames{"begin", "enqueue", "wait", "drain"};
    return kNames[static_cast<std::size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Everywhere, PipelineDeviceError,
                         testing::Values(FailingDevice::Where::begin, FailingDevice::Where::enqueue,
                                         FailingDevice::Where::wait, FailingDevice::Where::drain),
                         name_of);

TEST(Pipeline, FiguresDoNotDependOnWhenTimesAreKnown) {
    for (const Nanoseconds period_ns : {kMs, 5 * kMs}) {
        for (const unsigned accelerators : {1U, 2U}) {
            const auto run = [&](bool late) {
                Rig rig;
                rig.device.step_ns = 2 * kMs;
                rig.device.h2d_latency_ns = kMs / 4;
                for (unsigned i = 0; i < accelerators; ++i) {
                    auto device = make_emulated_device(rig.device, rig.clock);
                    if (late) device = std::make_unique<LateDevice>(std::move(device));
                    rig.devices.push_back(std::move(device));
                }
                ScriptedSource source(constant_rate(50, period_ns), {.first_issue_ns = kT0, .slots = 4});
                return rig.run(source, 0);
            };
            const EpochOutcome expected = run(false);
            const EpochOutcome outcome = run(true);
            EXPECT_EQ(outcome.idle.fraction, expected.idle.fraction);
            EXPECT_EQ(outcome.idle.by_cause.ns, expected.idle.by_cause.ns);
            EXPECT_EQ(outcome.step_ns, expected.step_ns);
        }
    }
}

}  // namespace
}  // namespace feedline
