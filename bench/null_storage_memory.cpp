#include "bench/null_storage_memory.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/error.h"

namespace feedline {
namespace {

// Depends on the lengths of all samples in the dataset's order, and on nothing else.
std::uint64_t sizes_digest(const Dataset& dataset) {
    constexpr std::size_t kAtOnce = 4096;
    std::vector<SampleId> ids(kAtOnce);
    std::vector<Extent> extents(kAtOnce);
    std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a, a word at a time
    for (std::uint64_t at = 0; at < dataset.size(); at += kAtOnce) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kAtOnce, dataset.size() - at));
        std::iota(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), at);
        dataset.locate(std::span(ids).first(count), std::span(extents).first(count));
        for (std::size_t i = 0; i < count; ++i) digest = (digest ^ extents[i].length_bytes) * 0x100000001b3;
    }
    return digest;
}

}  // namespace

std::string null_storage_inputs(const Workbench& bench) {
    nlohmann::ordered_json inputs = config_json(bench.options());
    for (const char* elsewhere : {"engine", "io_timeout", "cache", "drop_caches", "epochs", "rounds", "steps",
                                  "duration", "json", "csv", "require", "no_progress", "quiet"}) {
        inputs.erase(elsewhere);
    }
    inputs["alignment"] = {bench.alignment().memory_bytes, bench.alignment().offset_bytes};
    inputs["slots_in_effect"] = bench.measured_pass(0).slots;
    const Dataset& dataset = *bench.dataset();
    if (bench.options().decode == DecodeMode::jpeg) inputs["path"] = printable(dataset.info().path);
    inputs["samples"] = dataset.size();
    inputs["sizes"] = sizes_digest(dataset);
    return inputs.dump();
}

const NullStorageMemory::Known* NullStorageMemory::find(const std::string& inputs) const {
    const auto at = known_.find(inputs);
    return at == known_.end() ? nullptr : &at->second;
}

void NullStorageMemory::keep(const std::string& inputs, const std::string& name, const ControlFigures& figures) {
    known_.emplace(inputs, Known{name, figures});
}

}  // namespace feedline
