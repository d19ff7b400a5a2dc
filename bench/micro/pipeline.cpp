// CPU time a step of the whole pipeline (dispatching, emulated device, audit, timeline, releasing) at the pace of the
// steps, with a source that always has a batch; and beside it the floor of any such pipeline: one thread that sleeps to
// a deadline and wakes another.
#include "bench/pipeline.h"

#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace feedline {
namespace {

constexpr std::uint64_t kBatchSamples = 256;
constexpr std::uint64_t kBatchBytes = kBatchSamples * 3'100;
constexpr unsigned kSlots = 8;

double cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// Batches that are ready as soon as a slot is free.
class ReadySource final : public BatchSource {
public:
    explicit ReadySource(std::uint64_t batches) : batches_(batches), samples_(kSlots), trace_(kBatchSamples) {
        for (auto& samples : samples_) samples.resize(kBatchSamples);
    }

    const Batch* next() override {
        std::unique_lock lock(mutex_);
        while (!stopped_ && next_ - released_ >= kSlots) {
            const Nanoseconds at_ns = released_ < told_ ? free_at_ns_[released_ % kSlots] : 0;
            if (at_ns == 0) {
                freed_.wait(lock);
            } else if (now_ns() >= at_ns) {
                ++released_;
            } else {
                freed_.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at_ns)));
            }
        }
        if (stopped_ || next_ == batches_) return nullptr;
        Batch& batch = batch_[next_ % kSlots];
        std::vector<SampleView>& samples = samples_[next_ % kSlots];
        for (std::uint64_t i = 0; i < kBatchSamples; ++i) samples[i].id = next_ * kBatchSamples + i;
        batch.index = next_++;
        batch.bytes = kBatchBytes;
        batch.payload_bytes = kBatchBytes;
        batch.samples = samples;
        batch.trace = trace_;
        batch.ready_ns = now_ns();
        return &batch;
    }
    void release(std::uint64_t index) override {
        {
            std::lock_guard lock(mutex_);
            released_ = index + 1;
        }
        freed_.notify_one();
    }
    bool waits_for_slots() const override { return true; }
    void release_at(std::uint64_t index, Nanoseconds at_ns) override {
        std::lock_guard lock(mutex_);
        free_at_ns_[index % kSlots] = at_ns;
        told_ = index + 1;
    }
    void stop() override {
        {
            std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        freed_.notify_one();
    }
    Nanoseconds first_issue_ns() const override { return begun_ns_; }
    std::optional<Nanoseconds> slot_since_ns(std::uint64_t index) const override {
        if (index >= batches_) return std::nullopt;
        return begun_ns_;
    }

private:
    std::uint64_t batches_;
    Nanoseconds begun_ns_ = now_ns();
    std::array<Batch, kSlots> batch_;
    std::vector<std::vector<SampleView>> samples_;
    std::vector<RequestTrace> trace_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::uint64_t next_ = 0;
    std::uint64_t told_ = 0;
    std::uint64_t released_ = 0;
    std::array<Nanoseconds, kSlots> free_at_ns_{};
    bool stopped_ = false;
};

// One iteration is an epoch of 1000 steps of range(0) microseconds.
void pipeline_step(benchmark::State& state) {
    constexpr std::uint64_t kSteps = 1'000;
    MonotonicClock clock;
    DeviceOptions device;
    device.slots = kSlots;
    device.step_ns = state.range(0) * 1'000;
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(make_emulated_device(device, clock));
    PipelineOptions options;
    options.max_batch_bytes = kBatchBytes;
    const Interrupt never;
    const double cpu_before = cpu_us();
    double idle = 0;
    for (auto _ : state) {
        ReadySource source(kSteps);
        DeliveryAudit audit(kSteps * kBatchSamples);
        idle += run_epoch(source, devices, options, &audit, never).idle.steady_fraction.value_or(1);
    }
    const auto epochs = static_cast<double>(state.iterations());
    state.counters["cpu_us_a_step"] = (cpu_us() - cpu_before) / epochs / kSteps;
    state.counters["steady_idle"] = idle / epochs;
}
BENCHMARK(pipeline_step)->Arg(375)->Arg(2'000)->UseRealTime()->Iterations(2);

void sleep_and_wake_floor(benchmark::State& state) {
    MonotonicClock clock;
    std::mutex mutex;
    std::condition_variable woken;
    std::uint64_t sent = 0;
    bool over = false;
    std::uint64_t got = 0;
    const double cpu_before = cpu_us();
    {
        std::jthread sleeper([&] {
            std::unique_lock lock(mutex);
            while (!over) {
                woken.wait(lock, [&] { return over || sent > got; });
                got = sent;
            }
        });
        Nanoseconds deadline = clock.now();
        for (auto _ : state) {
            clock.sleep_until(deadline += state.range(0) * 1'000);
            {
                std::lock_guard lock(mutex);
                ++sent;
            }
            woken.notify_one();
        }
        std::lock_guard lock(mutex);
        over = true;
        woken.notify_one();
    }
    state.counters["cpu_us_a_step"] = (cpu_us() - cpu_before) / static_cast<double>(state.iterations());
}
BENCHMARK(sleep_and_wake_floor)->Arg(375)->Arg(2'000)->UseRealTime()->Iterations(1'000);

}  // namespace
}  // namespace feedline
