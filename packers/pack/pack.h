// Repacks a dataset of any format into shards of another.
//
// Everything is written below DST.incomplete and renamed to DST when it is whole. There, a shard appears under its name
// when it and its sidecar are on disk, and then in the journal; so a run that was killed, or failed, can be gone on
// with. The bytes depend on the source and the options alone, not on threads, time or how often the run was
// interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/interrupt.h"
#include "loaders/dataset.h"
#include "loaders/engine/engine.h"
#include "loaders/loader.h"
#include "loaders/order.h"
#include "loaders/packed/manifest.h"
#include "packers/packer.h"

namespace feedline {

struct PackOptions {
    std::string destination{};
    std::string name{};                       // in the names of shards; empty: the source's own
    std::uint64_t shard_bytes = 256U << 20U;  // of content
    std::uint64_t shards = 0;                 // not 0: so many, whatever shard_bytes says
    OrderMode order = OrderMode::sequential;
    std::uint64_t seed = 0;
    unsigned threads = 0;              // 0: as many as cores
    std::string labels = "auto";       // auto, none, or a file of lines PATH<TAB>LABEL
    std::vector<std::string> parts{};  // names of those to take, in this order; empty: all
    OnError on_error = OnError::stop;
    double rate_bytes_per_second = 0;  // 0: no limit
    bool resume = false;
    bool overwrite = false;
    // Gets, before anything is written, what a person should know. May be empty.
    std::function<void(const std::string&)> note{};
};

struct PackProgress {
    std::uint64_t samples = 0;
    std::uint64_t content_bytes = 0;
    std::uint64_t shards = 0;  // that are whole
};

// What a run would do, before anything is touched.
struct PackPlan {
    std::uint64_t shards = 0;
    std::uint64_t samples = 0;
    std::uint64_t source_bytes = 0;
    std::uint64_t estimated_bytes = 0;  // that will be written
    std::uint64_t free_bytes = 0;       // at the destination
    double estimated_seconds = 0;       // of reading, by how long a few samples took
    bool past_cache = false;            // these were read from the storage itself, not perhaps from memory
    bool complete = false;             // the destination is what would be written: with `resume` there is nothing to do
    bool replaces = false;             // the destination
    std::vector<std::string> notes{};  // what a person should know
};

struct PackResult {
    Manifest manifest;
    std::uint64_t resumed_shards = 0;  // that an earlier run had finished
    bool was_complete = false;         // there was nothing to do
    std::string left_beside{};         // then: a directory that another run has left, and that takes up space
    std::vector<std::string> notes{};  // what was lost of the samples that this run wrote
    std::string engine_fallback;       // why the source is not read as it should be; empty: it is
};

// Throws Error{usage} for options that contradict, a destination in use, a sample that the format cannot hold; {io,
// corrupt, changed} where the source cannot be read (with OnError::skip it is left out and counted); {out_of_space},
// before anything is written where it cannot fit; {interrupted}. What is whole then stays for `resume`. `progress` may
// be empty; it is called about ten times a second from the calling thread.
PackResult pack(const std::shared_ptr<const Dataset>& source, const Packer& packer, const PackOptions& options,
                const std::function<void(const PackProgress&)>& progress, const Interrupt& interrupt);

// Throws what pack() throws before it writes, but for want of space. Nothing is touched.
PackPlan plan_pack(const std::shared_ptr<const Dataset>& source, const Packer& packer, const PackOptions& options);

}  // namespace feedline
