// Records that follow each other in a file like the links of a chain: only a header says where the next one begins.
//
// A chain walked from its start is a read after a read. To walk a large shard from many places at once, headers are
// looked for in its middle. What is found there may be part of a payload, so it counts only where the chain from the
// shard's start arrives exactly at it; elsewhere that stretch is walked again. The result is always that of one walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "loaders/dataset.h"
#include "loaders/shards/inflate.h"
#include "loaders/shards/shard_list.h"
#include "loaders/shards/window.h"

namespace feedline {

// A record as its header tells: where it begins, and what the format calls it.
struct Link {
    std::uint64_t offset_bytes = 0;
    std::size_t name_end = 0;  // in Chain::names, where it begins with the end of the one before
};

struct Chain {
    std::vector<Link> links;      // ascending; each record ends where the next begins, the last at end_bytes
    std::string names;            // one after the other
    std::uint64_t end_bytes = 0;  // where the next header should be
    bool finished = false;        // the data end there, whatever the file holds behind
    std::string fault;            // what is wrong there; empty: nothing
};

enum class Next { record, end, fault };

struct NextRecord {
    std::uint64_t end_bytes = 0;  // where the next one begins
    std::string name;             // what it is called, where the format has names; raw bytes
};

// What a format knows of its headers. Thread-safe: const members may be called from any thread at once.
class ChainFormat {
public:
    virtual ~ChainFormat() = default;
    // What tells its indexes from those that others make of the same file.
    virtual std::string_view tag() const = 0;
    // What begins at `offset_bytes`, which is no more than the file's size: a record, the end of the data, or something
    // that is neither (`what` says what is wrong). Looks at nothing before `offset_bytes`; may read `ahead` bytes more
    // than it needs.
    virtual Next next(Window& file, std::uint64_t offset_bytes, std::size_t ahead, NextRecord& record,
                      std::string& what) const = 0;

    // For looking into the middle of a file. Records begin at multiples of this,
    virtual std::uint64_t alignment_bytes() const { return 1; }
    // with a header of so many bytes,
    virtual std::size_t header_bytes() const = 0;
    // of which this is one, as far as it shows. Few other bytes should pass, and those at little cost.
    virtual bool may_be_header(std::span<const std::byte> header, std::uint64_t file_bytes) const = 0;

    // What the text of an index file beside `shard` says of it (index_file.h), in `chain`: offsets, names and the end.
    // False where that is no index, or one of other bytes than these: `why` says what does not fit. Looks at the shard
    // here and there only.
    virtual bool read_index(std::string_view text, Window& shard, Chain& chain, std::string& why) const = 0;
};

struct ChainOptions {
    unsigned threads = 64;                  // a header is a random read: as many at once as a disk's queue is deep
    std::uint64_t part_bytes = 64U << 20U;  // what one thread walks at a time
    // What may be kept of all compressed shards together to begin in their middle.
    std::uint64_t window_budget_bytes = 64U << 20U;
    bool skip_corrupt = false;     // go on behind what is broken and count it, instead of throwing
    std::string index_cache = {};  // as OpenOptions has it
    Nanoseconds index_cache_from_ns = 0;
    void (*progress)(std::uint64_t records, void* context) = nullptr;  // from any thread, one call at a time or several
    void* progress_context = nullptr;
};

// As a dataset is to be opened.
ChainOptions chain_options(const OpenOptions& options);

// A record of a walked shard.
struct WalkedRecord {
    std::uint64_t begin_bytes;
    std::uint64_t end_bytes;
    std::string_view name;
};

// Called for each shard in order, with its records in order, which are valid during the call.
using OnShard = std::function<void(std::size_t shard, std::span<const WalkedRecord> records)>;

struct WalkedShards {
    std::vector<Oddity> oddities;  // what was skipped; index files that do not fit
    // Of shards that are compressed, where one can begin to inflate them; null for others. By shard.
    std::vector<std::shared_ptr<const AccessPoints>> access;
};

// Walks all shards, except where an index file or the cache knows their records; compressed ones once through, with
// offsets in what they inflate to. Throws Error{io}, Error{changed}, Error{corrupt} with file and offset of the first
// fault, by shard, unless it is to be skipped, and Error{unsupported} for compressed shards in a build without zlib.
WalkedShards walk_shards(std::span<const ShardFile> shards, const ChainFormat& format, const ChainOptions& options,
                         const OnShard& on_shard);

}  // namespace feedline
