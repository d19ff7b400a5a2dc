// The whole epoch with a loader that follows a script: figures must equal the analytic ones, whatever the threads do.
#include "bench/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "core/error.h"
#include "tests/testutil/manual_clock.h"
#include "tests/testutil/scripted_source.h"

namespace feedline {
namespace {

using test::ManualClock;
using test::samples_from;
using test::ScriptedBatch;
using test::ScriptedSource;

constexpr Nanoseconds kMs = 1'000'000;
constexpr Nanoseconds kT0 = 1'000 * kMs;
constexpr std::uint64_t kBatchSamples = 4;
constexpr double kExact = 1e-3;     // nanoseconds, of sums over a hundred steps
constexpr double kFraction = 1e-9;  // of a fraction

// Batch i is read from slot_ns to ready_ns by one request a sample, the first millisecond of it opening when `open_ns`.
ScriptedBatch read_batch(std::uint64_t index, Nanoseconds slot_ns, Nanoseconds ready_ns, Nanoseconds open_ns = 0) {
    ScriptedBatch batch;
    batch.slot_ns = slot_ns;
    batch.ready_ns = ready_ns;
    batch.bytes = 4096;
    batch.payload_bytes = 4000;
    batch.samples = samples_from(index * kBatchSamples, kBatchSamples);
    batch.trace.assign(kBatchSamples, {slot_ns, slot_ns + open_ns, ready_ns, ready_ns, 1});
    return batch;
}

// A loader that finishes a batch every `period_ns`, never short of a slot.
std::vector<ScriptedBatch> constant_rate(std::uint64_t batches, Nanoseconds period_ns) {
    std::vector<ScriptedBatch> script;
    for (std::uint64_t i = 0; i < batches; ++i) {
        const Nanoseconds slot_ns = kT0 + static_cast<Nanoseconds>(i) * period_ns;
        script.push_back(read_batch(i, slot_ns, slot_ns + period_ns));
    }
    return script;
}

// Read 4 ms, 1 of it opening, once the copy of the batch before, 1 ms, has freed the only slot.
std::vector<ScriptedBatch> one_slot(std::uint64_t batches) {
    std::vector<ScriptedBatch> script;
    for (std::uint64_t i = 0; i < batches; ++i) {
        const Nanoseconds slot_ns = kT0 + static_cast<Nanoseconds>(i) * 5 * kMs;
        script.push_back(read_batch(i, slot_ns, slot_ns + 4 * kMs, kMs));
    }
    return script;
}

struct Rig {
    ManualClock clock{kT0};
    DeviceOptions device;
    PipelineOptions options;
    Interrupt interrupt;
    std::vector<std::unique_ptr<Device>> devices;

    Rig() {
        device.h2d_latency_ns = 0;
        device.h2d_bytes_per_second = 1e30;  // copies take the latency alone
        options.max_batch_bytes = 1U << 20U;
        options.clock = &clock;
    }

    EpochOutcome run(ScriptedSource& source, unsigned accelerators = 1, DeliveryAudit* audit = nullptr) {
        for (unsigned i = 0; i < accelerators; ++i) devices.push_back(make_emulated_device(device, clock));
        return run_epoch(source, devices, options, audit, interrupt);
    }
};

std::vector<std::uint64_t> first_indices(std::uint64_t count) {
    std::vector<std::uint64_t> indices(count);
    for (std::uint64_t i = 0; i < count; ++i) indices[i] = i;
    return indices;
}

void expect_sums(const IdleFigures& idle) {
    EXPECT_NEAR(idle.by_cause.total(), idle.idle_ns, kExact);
    EXPECT_NEAR(idle.idle_ns + idle.busy_ns, static_cast<double>(idle.t1_ns - idle.t0_ns), kExact);
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
    ASSERT_EQ(outcome.step_ns_clipped.size(), kBatches);
    EXPECT_EQ(outcome.step_ns_clipped[0], 7 * kMs);
    EXPECT_EQ(outcome.step_ns_clipped[99], 5 * kMs);
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
    EXPECT_EQ(outcome.step_ns_clipped[0], 8 * kMs);
    EXPECT_EQ(outcome.step_ns_clipped[2], 14 * kMs);
    EXPECT_EQ(outcome.step_ns_clipped[299], 9 * kMs);
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

TEST(Pipeline, DurationLeavesLaterBatchesOut) {
    Rig rig;
    rig.device.step_ns = kMs / 2;
    rig.options.duration_ns = 50 * kMs;
    ScriptedSource source(constant_rate(100, 3 * kMs), {.first_issue_ns = kT0, .slots = 8, .clock = &rig.clock});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, 16U);  // the 17th would be ready after 51 ms
    EXPECT_FALSE(outcome.partial);
    EXPECT_TRUE(source.stopped());
}

TEST(Pipeline, DurationEndsAHangingRead) {
    Rig rig;
    rig.options.duration_ns = 50 * kMs;
    ScriptedSource source(constant_rate(10, kMs),
                          {.first_issue_ns = kT0, .slots = 8, .block_at = 5, .on_next = [&](std::uint64_t index) {
                               if (index == 5) rig.clock.advance_to(kT0 + 60 * kMs);
                           }});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_EQ(outcome.steps, 5U);
    EXPECT_FALSE(outcome.partial);
}

TEST(Pipeline, InterruptEndsAHangingReadWithPartialFigures) {
    Rig rig;
    rig.device.step_ns = 2 * kMs;
    ScriptedSource source(constant_rate(10, 5 * kMs),
                          {.first_issue_ns = kT0, .slots = 8, .block_at = 6, .on_next = [&](std::uint64_t index) {
                               if (index == 6) rig.interrupt.request();
                           }});
    const EpochOutcome outcome = rig.run(source);
    EXPECT_TRUE(outcome.partial);
    EXPECT_EQ(outcome.steps, 6U);
    EXPECT_EQ(outcome.idle.t1_ns, kT0 + 32 * kMs);
    EXPECT_NEAR(outcome.idle.fraction, 20.0 / 32.0, kFraction);
    expect_sums(outcome.idle);
}

// Steps of an hour: whoever waits for one of them runs into the test's time limit. `on_next` is as in the script.
EpochOutcome hour_long_steps(std::uint64_t batches, unsigned host_slots, Interrupt& interrupt,
                             std::function<void(std::uint64_t)> on_next) {
    MonotonicClock clock;
    DeviceOptions device;
    device.step_ns = 3600 * kNanosecondsPerSecond;
    device.slots = 2;
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(make_emulated_device(device, clock));
    const Nanoseconds t0 = clock.now();
    std::vector<ScriptedBatch> script;
    for (std::uint64_t i = 0; i < batches; ++i) script.push_back(read_batch(i, t0, t0));
    ScriptedSource source(std::move(script),
                          {.first_issue_ns = t0, .slots = host_slots, .on_next = std::move(on_next)});
    PipelineOptions options;
    options.max_batch_bytes = 1U << 20U;
    return run_epoch(source, devices, options, nullptr, interrupt);
}

TEST(Pipeline, InterruptDoesNotWaitForStepsThatLieAhead) {
    // Four batches are on their way (two in the device, two in host slots) when next() waits for a slot.
    Interrupt interrupt;
    const EpochOutcome outcome = hour_long_steps(8, 2, interrupt, [&](std::uint64_t index) {
        if (index == 4) interrupt.request();
    });
    EXPECT_TRUE(outcome.partial);
    EXPECT_EQ(outcome.steps, 4U);
    EXPECT_GE(outcome.idle.t1_ns, outcome.idle.t0_ns + 4 * (3600 * kNanosecondsPerSecond));
    EXPECT_EQ(outcome.step_ns_clipped[3], std::numeric_limits<std::uint32_t>::max());
}

TEST(Pipeline, InterruptDoesNotWaitForTheLastSteps) {
    // The source has ended and the steps have not.
    Interrupt interrupt;
    const EpochOutcome outcome = hour_long_steps(4, 0, interrupt, [&](std::uint64_t index) {
        if (index == 4) interrupt.request();
    });
    EXPECT_TRUE(outcome.partial);
    EXPECT_EQ(outcome.steps, 4U);
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

// A device around another one.
class Wrapper : public Device {
public:
    explicit Wrapper(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}
    DeviceKind kind() const override { return inner_->kind(); }
    std::string name() const override { return inner_->name(); }
    std::shared_ptr<Slab> make_slab(std::uint64_t bytes) override { return inner_->make_slab(bytes); }
    void begin_epoch(std::uint64_t max_batch_bytes) override { inner_->begin_epoch(max_batch_bytes); }
    void enqueue(std::uint64_t index, const std::byte* data, std::uint64_t bytes, Nanoseconds ready_ns) override {
        inner_->enqueue(index, data, bytes, ready_ns);
    }
    Nanoseconds wait_copied(std::uint64_t index) override { return inner_->wait_copied(index); }
    void collect(std::vector<StepTimes>& out) override { inner_->collect(out); }
    void drain() override { inner_->drain(); }
    void abandon_waits() override { inner_->abandon_waits(); }

private:
    std::unique_ptr<Device> inner_;
};

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

// Tells the times of a step only when later ones were enqueued, as a device with events does.
class LateDevice final : public Wrapper {
public:
    using Wrapper::Wrapper;
    void collect(std::vector<StepTimes>& out) override {
        Wrapper::collect(held_back_);
        const std::size_t known =
            drained_ ? held_back_.size() : held_back_.size() - std::min<std::size_t>(held_back_.size(), 3);
        out.insert(out.end(), held_back_.begin(), held_back_.begin() + static_cast<std::ptrdiff_t>(known));
        held_back_.erase(held_back_.begin(), held_back_.begin() + static_cast<std::ptrdiff_t>(known));
    }
    void drain() override {
        Wrapper::drain();
        drained_ = true;
    }

private:
    std::vector<StepTimes> held_back_;
    bool drained_ = false;
};

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
            EXPECT_EQ(outcome.step_ns_clipped, expected.step_ns_clipped);
        }
    }
}

}  // namespace
}  // namespace feedline
