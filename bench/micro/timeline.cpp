// Saying where a step's idle time went: once a step, so it must cost little even for large batches.
#include "bench/timeline.h"

#include <benchmark/benchmark.h>

#include <random>
#include <vector>

namespace feedline {
namespace {

// A batch whose reads were under way while the accelerator waited: the costly case.
struct LateBatch {
    std::vector<RequestTrace> trace;
    StepTimes step;
};

LateBatch late_batch(std::size_t requests) {
    std::mt19937_64 random(7);
    std::uniform_int_distribution<Nanoseconds> part(1'000, 200'000);
    LateBatch batch;
    for (std::size_t i = 0; i < requests; ++i) {
        RequestTrace trace;
        trace.issued_ns = part(random);
        trace.opened_ns = trace.issued_ns + part(random);
        trace.read_ns = trace.opened_ns + part(random);
        trace.decoded_ns = trace.read_ns;
        batch.step.ready_ns = std::max(batch.step.ready_ns, trace.decoded_ns);
        batch.trace.push_back(trace);
    }
    batch.step.copy_start_ns = batch.step.ready_ns;
    batch.step.copy_end_ns = batch.step.copy_start_ns + 10'000;
    batch.step.start_ns = batch.step.copy_end_ns;
    batch.step.end_ns = batch.step.start_ns + 375'000;
    return batch;
}

void timeline_add_late_batch(benchmark::State& state) {
    const LateBatch batch = late_batch(static_cast<std::size_t>(state.range(0)));
    GapAttribution attribute;
    for (auto _ : state) benchmark::DoNotOptimize(attribute(0, batch.step, 0, batch.trace));
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(timeline_add_late_batch)->Arg(32)->Arg(256)->Arg(16384);

void timeline_add_batch_in_time(benchmark::State& state) {
    const LateBatch batch = late_batch(256);
    GapAttribution attribute;
    for (auto _ : state) benchmark::DoNotOptimize(attribute(batch.step.ready_ns, batch.step, 0, batch.trace));
}
BENCHMARK(timeline_add_batch_in_time);

}  // namespace
}  // namespace feedline
