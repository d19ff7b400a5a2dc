// feedline.manifest.json: what a packed dataset is. Written last, so a directory that has one is whole. It holds no
// time, no destination and no thread count: the same input and the same options give the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

inline constexpr const char* kManifestName = "feedline.manifest.json";
inline constexpr const char* kManifestSchema = "feedline.packed/1";

// A sample that could not be read and was left out.
struct LeftOut {
    std::string path;
    std::string why;
};

struct PackedShard {
    std::string name;
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;          // of its data file
    std::uint64_t content_bytes = 0;  // of the samples in it
    std::uint32_t crc32c = 0;         // of its data file
    std::uint32_t sidecar_crc32c = 0;
    std::optional<std::uint32_t> index_crc32c;  // of SHARD.idx, where there is one
    std::vector<LeftOut> left_out;
};

struct Manifest {
    std::string plan;  // what pack() was to do: the same for the same source and options
    std::string format;
    std::string name;
    std::string order;  // "sequential", or "shuffle" with the seed
    std::uint64_t seed = 0;
    std::string labels;
    std::vector<ClassName> classes;
    std::vector<PackedShard> shards;

    std::uint64_t samples() const;
    std::uint64_t bytes() const;
    std::uint64_t content_bytes() const;
    std::uint64_t left_out() const;
};

// The text ends with the CRC32C of itself, in which it stands as 00000000.
std::string to_text(const Manifest& manifest);

// Of the dataset in `directory`; nothing when it has none. Throws Error{corrupt, io}.
std::optional<Manifest> read_manifest(const std::string& directory);

}  // namespace feedline
