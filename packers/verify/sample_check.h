// The samples of a packed dataset, one by one: against what the format says of them, against the sidecars, and against
// the source.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/interrupt.h"
#include "loaders/dataset.h"
#include "loaders/packed/manifest.h"
#include "packers/pack/source_memory.h"
#include "packers/verify/findings.h"

namespace feedline {

// Samples of the packed dataset that lie in one shard, in order.
struct ShardSamples {
    ShardId shard = 0;
    std::vector<SampleId> ids;
};

std::vector<ShardSamples> samples_by_shard(const Dataset& dataset);

// Which sample of the source became which; nothing: none is known.
using SourceOf = std::function<std::optional<SampleId>(SampleId id, const std::string& path)>;

class SampleCheck {
public:
    // `source` may be null; then `source_of` is not asked. Not owned: findings, interrupt.
    SampleCheck(std::shared_ptr<const Dataset> packed, std::shared_ptr<const Dataset> source, SourceOf source_of,
                bool compare_labels, Findings& findings, const Interrupt& interrupt)
        : packed_(std::move(packed)),
          source_(std::move(source)),
          memory_(source_ == nullptr ? std::nullopt : SourceMemory::read(*source_)),
          source_of_(std::move(source_of)),
          compare_labels_(compare_labels),
          findings_(findings),
          interrupt_(interrupt) {}

    // Reads all samples of a shard. `sidecar`: the path of its sidecar; empty: there is none. Returns how many were
    // compared with the source. Several shards may be checked at the same time. Throws Error{interrupted}.
    std::uint64_t shard(const ShardSamples& samples, const std::string& sidecar) const;

    // Samples without a sidecar, whose records tell no path of the source. Also the key of one of them.
    std::uint64_t untold() const { return untold_; }
    std::string first_untold() const { return first_untold_; }

private:
    std::vector<std::string> paths_in_records(const ShardSamples& samples) const;
    void add_untold(std::string key) const;

    std::shared_ptr<const Dataset> packed_;
    std::shared_ptr<const Dataset> source_;
    std::optional<SourceMemory> memory_;  // of a packed source of ours
    SourceOf source_of_;
    bool compare_labels_;
    Findings& findings_;
    const Interrupt& interrupt_;
    mutable std::mutex mutex_;
    mutable std::uint64_t untold_ = 0;
    mutable std::string first_untold_;  // in the order of keys
};

}  // namespace feedline
