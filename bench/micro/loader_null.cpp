// How fast the loader is when storage costs nothing: batches through next() and release() with the null engine. Real
// time, for the work is on the workers' threads.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "loaders/loader.h"

namespace {

using namespace feedline;

// Files of one length, as the files format presents them: named relative to a directory, a shard each.
class SmallFiles final : public Dataset {
public:
    SmallFiles(std::uint64_t files, std::uint64_t length_bytes) : lengths_(files, length_bytes) {
        info_.samples = files;
        info_.shards = files;
        info_.bytes = files * length_bytes;
        info_.max_length_bytes = length_bytes;
    }
    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        for (const SampleId id : ids) __builtin_prefetch(&lengths_[id]);
        for (std::size_t i = 0; i < ids.size(); ++i) extents[i] = {0, lengths_[ids[i]], static_cast<ShardId>(ids[i])};
    }
    Source source(ShardId, std::string&) const override { return {.dir_fd = 0, .name = "name", .whole_file = true}; }
    std::string path(ShardId) const override { return "name"; }
    std::string key(SampleId id) const override { return std::to_string(id); }
    std::optional<std::int64_t> label(SampleId) const override { return std::nullopt; }

private:
    DatasetInfo info_;
    std::vector<std::uint64_t> lengths_;
};

// Records of one length one after the other in one open shard.
class OneShard final : public Dataset {
public:
    OneShard(std::uint64_t records, std::uint64_t length_bytes) {
        info_.samples = records;
        info_.shards = 1;
        info_.bytes = records * length_bytes;
        info_.max_length_bytes = length_bytes;
    }
    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        const std::uint64_t length = info_.max_length_bytes;
        for (std::size_t i = 0; i < ids.size(); ++i) extents[i] = {ids[i] * length, length, 0};
    }
    Source source(ShardId, std::string&) const override { return {.fd = 0}; }
    std::string path(ShardId) const override { return "shard"; }
    std::string key(SampleId id) const override { return std::to_string(id); }
    std::optional<std::int64_t> label(SampleId) const override { return std::nullopt; }

private:
    DatasetInfo info_;
};

void run(benchmark::State& state, const std::shared_ptr<const Dataset>& dataset, OrderMode mode,
         std::uint64_t batch_size) {
    LoaderOptions options;
    options.engine.kind = EngineKind::null;
    options.threads = static_cast<unsigned>(state.range(0));
    options.slots = 8;
    options.wrap = true;
    options.max_batches = ~std::uint64_t{0};
    const Order order(dataset->size(), {.mode = mode, .seed = 1, .batch_size = batch_size});
    const PlanOptions plan{.alignment = {}, .slots = options.slots};
    const std::shared_ptr<Slab> slab = make_host_slab(staging_need(*dataset, std::span(&order, 1), plan).slab_bytes);
    Loader loader(dataset, order, slab, nullptr, options);
    std::uint64_t samples = 0;
    for (auto _ : state) {
        const Batch* batch = loader.next();
        samples += batch->samples.size();
        loader.release(batch->index);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(samples));
}

// A million small files, shuffled: what a B200 asks for on 3 KB samples is 256 every 0.375 ms, 0.68 million a second.
void loader_null_small_files(benchmark::State& state) {
    run(state, std::make_shared<SmallFiles>(1'000'000, 3000), OrderMode::shuffle, 256);
}
BENCHMARK(loader_null_small_files)->Arg(1)->Arg(2)->UseRealTime();

// The dlrm preset: 16,384 neighbours of 761 bytes a batch; a B200 asks for 43.7 million a second.
void loader_null_dlrm(benchmark::State& state) {
    run(state, std::make_shared<OneShard>(4'718'592, 761), OrderMode::sequential, 16'384);
}
BENCHMARK(loader_null_dlrm)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
