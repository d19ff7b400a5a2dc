// What the emulated accelerator itself costs the machine it runs on: CPU time a step, driven as the pipeline drives it.
// It tells the end of a copy ahead, so it never sleeps; who waits for a slot does (micro/pipeline.cpp has the whole).
#include <benchmark/benchmark.h>

#include <ctime>
#include <vector>

#include "core/clock.h"
#include "cuda/device.h"

namespace feedline {
namespace {

double cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// Argument: length of a step in microseconds. One iteration is one step.
void emulated_device_step(benchmark::State& state) {
    constexpr std::uint64_t kBatchBytes = 793'600;
    MonotonicClock clock;
    DeviceOptions options;
    options.step_ns = state.range(0) * 1'000;
    const auto device = make_emulated_device(options, clock);
    device->begin_epoch(kBatchBytes);
    std::vector<std::byte> batch(kBatchBytes);
    std::vector<StepTimes> steps;
    std::uint64_t index = 0;
    const double cpu_before = cpu_us();
    for (auto _ : state) {
        device->enqueue(index, batch.data(), batch.size(), clock.now());
        benchmark::DoNotOptimize(device->copied_at_ns(index));
        steps.clear();
        device->collect(steps);
        ++index;
    }
    state.counters["cpu_us_a_step"] = (cpu_us() - cpu_before) / static_cast<double>(index);
    device->cut();
    device->drain();
}
BENCHMARK(emulated_device_step)->Arg(375)->Arg(2'000)->UseRealTime();

}  // namespace
}  // namespace feedline
