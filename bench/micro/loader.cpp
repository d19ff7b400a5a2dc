// The loader over storage that completes at once: planning, requests, completions, hand-over. What it reaches here
// bounds what any storage can be seen to deliver. One iteration is one batch; rates are samples a second.
#include "loaders/loader.h"

#include <benchmark/benchmark.h>

#include <array>
#include <memory>

#include "bench/micro/files_in_memory.h"
#include "core/slab.h"
#include "loaders/order.h"
#include "loaders/plan.h"

namespace feedline {
namespace {

// Arguments: samples a batch, workers.
void loader_null_storage(benchmark::State& state) {
    constexpr std::uint64_t kFiles = 20'000;
    const FilesInMemory files(kFiles, 3'100);
    OrderOptions order_options;
    order_options.batch_size = static_cast<std::uint64_t>(state.range(0));
    const Order order(kFiles, order_options);
    LoaderOptions options;
    options.engine.kind = EngineKind::null;
    options.threads = static_cast<unsigned>(state.range(1));
    options.max_batches = std::uint64_t{1} << 40U;  // more than any measurement asks for
    options.wrap = true;
    options.replay = true;
    PlanOptions plan;
    plan.slots = options.slots;
    const StagingNeed need = staging_need(files.dataset(), std::array{order}, plan);
    Loader loader(files.shared_dataset(), order, make_host_slab(need.slab_bytes), nullptr, options);

    std::uint64_t samples = 0;
    for (auto _ : state) {
        const Batch* batch = loader.next();
        if (batch == nullptr) {
            state.SkipWithError("the loader ended");
            break;
        }
        samples += batch->samples.size();
        loader.release(batch->index);
    }
    loader.stop();
    state.SetItemsProcessed(static_cast<std::int64_t>(samples));
}
BENCHMARK(loader_null_storage)->Args({256, 1})->Args({256, 2})->Args({2560, 2})->UseRealTime();

}  // namespace
}  // namespace feedline
