// Each engine over a dataset of small files in memory (tmpfs): what opening and moving one file costs without storage.
// Benchmarks are named engine/NAME/BYTES_A_FILE; what this kernel refuses is missing from the list.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/micro/files_in_memory.h"
#include "core/slab.h"
#include "loaders/dataset.h"
#include "loaders/engine/engine.h"

namespace feedline {
namespace {

constexpr unsigned kDepth = 32;
constexpr std::size_t kFiles = 512;

void read_files(benchmark::State& state, EngineKind kind) {
    const auto bytes = static_cast<std::uint64_t>(state.range(0));
    const FilesInMemory files(kFiles, bytes);
    const EngineSelection selection = select_engine(kind, files.dataset());
    if (selection.kind != kind) {
        state.SkipWithError(selection.fallback.c_str());
        return;
    }
    EngineOptions options;
    options.kind = kind;
    options.queue_depth = std::min(kDepth, max_engine_queue_depth(kind));
    options.alignment = selection.alignment;
    const auto engine = make_engine(options);

    Extent extent;
    extent.length_bytes = bytes;
    const std::uint64_t room =
        (footprint(selection.alignment, extent).capacity_bytes + 4095) / 4096 * 4096;  // aligned for any engine
    const auto slab = make_host_slab(room * kFiles);
    std::vector<std::string> names(kFiles);
    std::vector<ReadRequest> requests(kFiles);
    std::vector<SampleId> ids(kFiles);
    std::vector<Extent> extents(kFiles);
    for (std::size_t i = 0; i < kFiles; ++i) ids[i] = i;
    files.dataset().locate(ids, extents);
    for (std::size_t i = 0; i < kFiles; ++i) {
        requests[i].source = files.dataset().source(extents[i].shard, names[i]);
        requests[i].length_bytes = bytes;
        requests[i].destination = slab->data() + i * room;
        requests[i].tag = i;
    }

    std::vector<Completion> completions(kDepth);
    for (auto _ : state) {
        std::size_t submitted = 0;
        std::size_t completed = 0;
        while (completed < kFiles) {
            submitted += engine->submit(std::span(requests).subspan(submitted));
            const std::size_t n = engine->reap(1, completions, -1);
            for (std::size_t i = 0; i < n; ++i) {
                if (completions[i].result != static_cast<std::int64_t>(bytes)) {
                    state.SkipWithError("a file did not arrive whole");
                    return;
                }
            }
            completed += n;
        }
    }
    const auto files_read = state.iterations() * static_cast<std::int64_t>(kFiles);
    state.SetItemsProcessed(files_read);
    state.SetBytesProcessed(files_read * static_cast<std::int64_t>(bytes));
}

const int kRegistered = [] {
    for (const EngineKind kind : available_engines()) {
        benchmark::RegisterBenchmark(("engine/" + std::string(to_string(kind))).c_str(), read_files, kind)
            ->Arg(3'100)
            ->Arg(110'000)
            ->UseRealTime();
    }
    return 0;
}();

}  // namespace
}  // namespace feedline
