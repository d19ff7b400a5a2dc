// What tests of the whole pipeline share: scripts for the loader, a clock that jumps, devices around devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/pipeline.h"
#include "tests/testutil/manual_clock.h"
#include "tests/testutil/scripted_source.h"

namespace feedline::test {

inline constexpr Nanoseconds kMs = 1'000'000;
inline constexpr Nanoseconds kT0 = 1'000 * kMs;
inline constexpr std::uint64_t kBatchSamples = 4;
inline constexpr double kExact = 1e-3;     // nanoseconds, of sums over a hundred steps
inline constexpr double kFraction = 1e-9;  // of a fraction

// Batch i is read from slot_ns to ready_ns by one request a sample, the first millisecond of it opening when `open_ns`.
inline ScriptedBatch read_batch(std::uint64_t index, Nanoseconds slot_ns, Nanoseconds ready_ns,
                                Nanoseconds open_ns = 0) {
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
inline std::vector<ScriptedBatch> constant_rate(std::uint64_t batches, Nanoseconds period_ns) {
    std::vector<ScriptedBatch> script;
    for (std::uint64_t i = 0; i < batches; ++i) {
        const Nanoseconds slot_ns = kT0 + static_cast<Nanoseconds>(i) * period_ns;
        script.push_back(read_batch(i, slot_ns, slot_ns + period_ns));
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

inline void expect_sums(const IdleFigures& idle) {
    EXPECT_NEAR(idle.by_cause.total(), idle.idle_ns, kExact);
    EXPECT_NEAR(idle.idle_ns + idle.busy_ns, static_cast<double>(idle.t1_ns - idle.t0_ns), 0.5);  // whole nanoseconds
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
    void cut() override { inner_->cut(); }

private:
    std::unique_ptr<Device> inner_;
};

// Tells the times of a step and of its copy only when later ones were enqueued, as a device with events does.
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

}  // namespace feedline::test
