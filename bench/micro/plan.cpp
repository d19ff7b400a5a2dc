// Planning a batch: where each sample lies and where it goes. Nanoseconds a sample, for whole small files (one read
// each) and for a packed shard read in order (runs of neighbours as one read).
#include "loaders/plan.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <string>

#include "loaders/dataset.h"
#include "loaders/order.h"

namespace feedline {
namespace {

constexpr std::uint64_t kSamples = 1 << 20;

// Records of one length: one a file, or one after the other in a single shard.
class EvenDataset final : public Dataset {
public:
    EvenDataset(std::uint64_t length_bytes, bool packed) : length_bytes_(length_bytes), packed_(packed) {
        info_.samples = kSamples;
        info_.shards = packed ? 1 : kSamples;
        info_.bytes = kSamples * length_bytes;
        info_.max_length_bytes = length_bytes;
    }
    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            extents[i].offset_bytes = packed_ ? ids[i] * length_bytes_ : 0;
            extents[i].length_bytes = length_bytes_;
            extents[i].shard = packed_ ? 0 : static_cast<ShardId>(ids[i]);
        }
    }
    Source source(ShardId /*shard*/, std::string& /*scratch*/) const override { return {}; }
    std::string path(ShardId shard) const override { return std::to_string(shard); }
    std::string key(SampleId id) const override { return std::to_string(id); }
    std::optional<std::int64_t> label(SampleId /*id*/) const override { return std::nullopt; }

private:
    DatasetInfo info_;
    std::uint64_t length_bytes_;
    bool packed_;
};

void plan_batches(benchmark::State& state, bool packed, OrderMode mode) {
    const EvenDataset dataset(761, packed);
    OrderOptions order_options;
    order_options.mode = mode;
    order_options.batch_size = static_cast<std::uint64_t>(state.range(0));
    const Order order(dataset.size(), order_options);
    const PlanOptions options;
    const std::uint64_t slab_bytes = staging_need(dataset, std::array{order}, options).slab_bytes;
    BatchPlanner planner(dataset, order, options, slab_bytes);
    PlannedBatch batch;
    std::uint64_t samples = 0;
    std::uint64_t reads = 0;
    for (auto _ : state) {
        if (!planner.next(batch)) {
            planner.rewind();
            planner.next(batch);
        }
        samples += batch.samples.size();
        reads += batch.reads.size();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(samples));
    state.counters["samples_a_read"] = static_cast<double>(samples) / static_cast<double>(reads);
}
BENCHMARK_CAPTURE(plan_batches, files_shuffled, false, OrderMode::shuffle)->Arg(256)->Arg(16384);
BENCHMARK_CAPTURE(plan_batches, files_sequential, false, OrderMode::sequential)->Arg(256)->Arg(16384);
BENCHMARK_CAPTURE(plan_batches, packed_sequential, true, OrderMode::sequential)->Arg(256)->Arg(16384);

}  // namespace
}  // namespace feedline
