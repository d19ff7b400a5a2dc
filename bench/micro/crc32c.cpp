// CRC32C over data in the processor's cache and over more than fits there: every packed record passes through it.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <random>
#include <vector>

#include "core/crc32c.h"

namespace feedline {
namespace {

void crc32c_of(benchmark::State& state) {
    if (!crc32c_is_fast()) {
        state.SkipWithError("built without isa-l");
        return;
    }
    std::mt19937_64 random(1);
    std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    for (auto _ : state) benchmark::DoNotOptimize(crc32c(bytes));
    state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(crc32c_of)->Name("crc32c")->Arg(512)->Arg(4096)->Arg(64 << 10)->Arg(1 << 20)->Arg(64 << 20);

}  // namespace
}  // namespace feedline
