// Latencies are recorded once a request: what that costs.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <vector>

#include "core/histogram.h"

namespace feedline {
namespace {

void histogram_record(benchmark::State& state) {
    // Latencies of storage are roughly lognormal; prepared beforehand, so that only record() is timed.
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> latency(11, 1);
    std::vector<std::int64_t> values(4096);
    for (auto& value : values) value = static_cast<std::int64_t>(latency(random));
    const auto histogram = std::make_unique<Histogram>();
    std::size_t next = 0;
    for (auto _ : state) {
        histogram->record(values[next]);
        next = (next + 1) % values.size();
    }
    benchmark::DoNotOptimize(histogram->count());
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(histogram_record);

void histogram_quantile(benchmark::State& state) {
    const auto histogram = std::make_unique<Histogram>();
    for (std::int64_t value = 1; value < 1'000'000'000; value = value * 5 / 4 + 1) histogram->record(value);
    for (auto _ : state) benchmark::DoNotOptimize(histogram->quantile(0.99));
}
BENCHMARK(histogram_quantile);

}  // namespace
}  // namespace feedline
