// The order of samples: nanoseconds a sample, point by point and by the batch.
#include <benchmark/benchmark.h>

#include <vector>

#include "loaders/order.h"

namespace feedline {
namespace {

constexpr std::uint64_t kImageNet = 1'281'167;

void permutation_point(benchmark::State& state) {
    const Permutation permutation(static_cast<std::uint64_t>(state.range(0)), 42);
    std::uint64_t position = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(permutation(position));
        if (++position == permutation.size()) position = 0;
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(permutation_point)->Arg(kImageNet)->Arg(1 << 20)->Arg((1 << 20) + 1);

void permutation_fill(benchmark::State& state) {
    const Permutation permutation(kImageNet, 42);
    std::vector<std::uint64_t> out(static_cast<std::size_t>(state.range(0)));
    std::uint64_t first = 0;
    for (auto _ : state) {
        permutation.fill(first, out);
        benchmark::DoNotOptimize(out.data());
        first += out.size();
        if (first + out.size() > permutation.size()) first = 0;
    }
    state.SetItemsProcessed(state.iterations() * std::ssize(out));
}
BENCHMARK(permutation_fill)->Arg(256)->Arg(16384);

void order_batch(benchmark::State& state) {
    OrderOptions options;
    options.batch_size = 256;
    options.world = 4;
    const Order order(kImageNet, options);
    std::vector<SampleId> ids;
    std::uint64_t batch = 0;
    std::uint64_t samples = 0;
    for (auto _ : state) {
        ids.resize(order.batch_samples(batch));
        order.batch(batch, ids);
        benchmark::DoNotOptimize(ids.data());
        samples += ids.size();
        if (++batch == order.batches()) batch = 0;
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(samples));
}
BENCHMARK(order_batch);

}  // namespace
}  // namespace feedline
