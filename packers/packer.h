// What writes one packed format. pack() (packers/pack) decides which samples go into which shard, reads them, and hands
// them to a ShardWriter one after the other; the writer knows nothing of where they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

class RateLimit;

struct PartHead {
    std::string name;  // as a file's name would end: "jpg", "seg.png"; empty: not known
    std::uint64_t bytes = 0;
};

// What is known of a sample before its bytes come.
struct SampleHead {
    std::uint64_t number = 0;  // in the packed dataset, from 0
    std::string path;          // unique in the dataset; raw bytes
    // No other sample has this path without its last suffix, as its own path or without its own suffix.
    bool unique_stem = false;
    Label label;
    std::string class_name;       // of the label; raw bytes; empty: not known
    std::vector<PartHead> parts;  // at least one; the first is what is trained on

    std::uint64_t bytes() const;  // of all parts
};

// A shard as it is going to be.
struct ShardPlan {
    std::string path;        // of what is to be written; nothing is there yet
    std::string index_path;  // of the index beside it, where the format has one
    std::uint64_t number = 0;
    std::uint64_t shards = 1;
    std::uint64_t samples = 0;
    // All parts of all samples together. An upper bound where the source keeps more in a record than its parts.
    std::uint64_t content_bytes = 0;
    bool content_is_exact = true;
    std::span<const ClassName> classes;  // of the whole dataset
    RateLimit* rate = nullptr;           // not owned; may be null
};

struct ShardSum {
    std::uint64_t bytes = 0;                    // of the shard's data file
    std::optional<std::uint32_t> crc32c;        // of it, where the writer knows without reading it again
    std::optional<std::uint32_t> index_crc32c;  // of the index beside it, where there is one
};

// Writes one shard. For each of ShardPlan::samples samples: begin(), append() until all bytes of its parts have come,
// in their order and in pieces of any size, end(). Then finish(), after which everything is on disk. Destroyed without
// finish() it leaves what there is for the caller to remove. Belongs to one thread. Throws Error{io, out_of_space};
// Error{usage} for a sample that the format cannot hold.
class ShardWriter {
public:
    virtual ~ShardWriter() = default;
    // Returns the key that the sample has in this format.
    virtual std::string begin(const SampleHead& head) = 0;
    virtual void append(std::span<const std::byte> bytes) = 0;
    virtual void end() = 0;
    virtual ShardSum finish() = 0;
};

// Thread-safe: const members may be called from any thread at once.
class Packer {
public:
    virtual ~Packer() = default;
    virtual std::string_view format() const = 0;
    // NAME-00007-of-00008.tfrecord
    virtual std::string shard_name(std::string_view dataset, std::uint64_t number, std::uint64_t shards) const = 0;
    // Whether shards are directories, and then how the file with the data in it is called; otherwise empty.
    virtual std::string_view data_file() const { return {}; }
    // Whether finish() leaves an index for other readers at ShardPlan::index_path.
    virtual bool has_index() const { return false; }
    // Whether a sample of several parts can be kept whole.
    virtual bool several_parts() const = 0;
    // Whether a label's place is in the shard, not in its sidecar alone. What can be in neither is refused by the
    // writer.
    virtual bool keeps(const Label& /*label*/) const { return true; }
    // Whether a sample without a label among others that have one gets a number that stands for none.
    virtual bool marks_unlabelled() const { return false; }
    // About how many bytes a dataset takes.
    virtual std::uint64_t estimate_bytes(std::uint64_t samples, std::uint64_t content_bytes) const = 0;
    virtual std::unique_ptr<ShardWriter> open(const ShardPlan& plan) const = 0;
};

// Every packer of this build, in a fixed order.
std::span<const Packer* const> all_packers();

// Throws Error{usage} naming what there is; Error{unsupported} for a format that this build cannot write.
const Packer& find_packer(std::string_view format);

}  // namespace feedline
