#include "packers/pack/source_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/units.h"
#include "loaders/packed/manifest.h"
#include "loaders/packed/sidecar.h"
#include "packers/output/digest.h"
#include "packers/output/paths.h"

namespace feedline {
namespace {

std::uint64_t content_digest(std::uint64_t so_far, std::uint64_t bytes, std::uint32_t crc) {
    return digest(crc, digest(bytes, so_far));
}

// Shards of ours, and where they are.
struct Known {
    std::string directory;
    std::vector<PackedShard> shards;
};

std::optional<Known> known_shards(const Dataset& source) {
    namespace fs = std::filesystem;
    if (std::optional<Manifest> whole = read_manifest(source.info().path)) {
        return Known{source.info().path, std::move(whole->shards)};
    }
    // One of them, or some by a pattern.
    Known some;
    std::optional<Manifest> manifest;
    for (ShardId shard = 0; shard < source.info().shards; ++shard) {
        fs::path file(source.path(shard));
        if (file.filename() == kDataInDirectory) file = file.parent_path();
        const std::string directory = parent_directory(file.native());
        if (shard == 0) {
            some.directory = directory;
            manifest = read_manifest(directory);
        }
        if (!manifest || directory != some.directory) return std::nullopt;
        const auto found = std::find_if(manifest->shards.begin(), manifest->shards.end(),
                                        [&](const PackedShard& one) { return one.name == file.filename(); });
        if (found == manifest->shards.end()) return std::nullopt;
        some.shards.push_back(*found);
    }
    return some;
}

}  // namespace

std::optional<SourceMemory> SourceMemory::read(const Dataset& source) {
    if (!source.info().packed) return std::nullopt;
    const std::optional<Known> known = known_shards(source);
    if (!known) return std::nullopt;
    SourceMemory memory;
    for (const PackedShard& shard : known->shards) {
        const std::string sidecar = fmt::format("{}/{}{}", known->directory, shard.name, kSidecarSuffix);
        const std::uint32_t crc = for_each_sample(sidecar, [&](const SidecarSample& sample, std::uint64_t /*offset*/) {
            std::uint64_t content = 0;
            for (const SidecarPart& part : sample.parts) {
                content = content_digest(content, part.bytes, part.crc32c);
            }
            memory.paths_.add(sample.path);
            memory.labels_.push_back(sample.label);
            memory.parts_.push_back(static_cast<std::uint16_t>(sample.parts.size()));
            memory.contents_.push_back(content);
        });
        if (crc != shard.sidecar_crc32c) {
            throw Error(ErrorKind::corrupt, "the sidecar is not as it was written")
                .at(sidecar)
                .advise("feedline verify says more");
        }
    }
    if (memory.paths_.size() == source.size()) return memory;
    throw Error(ErrorKind::corrupt,
                fmt::format("the packed dataset holds {}, and its sidecars name {}",
                            format_counted(source.size(), "sample"), format_counted(memory.paths_.size(), "sample")))
        .at(known->directory)
        .advise("feedline verify says what is missing");
}

bool SourceMemory::are(SampleId id, std::span<const Part> parts) const {
    std::uint64_t content = 0;
    for (const Part& part : parts) content = content_digest(content, part.bytes.size(), crc32c(part.bytes));
    return content == contents_[id];
}

}  // namespace feedline
