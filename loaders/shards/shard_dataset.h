// What all datasets of shards have in common: files on disk, an index of records. A format adds what a record holds.
//
// Thread-safety: immutable; const members may be called from any thread at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/shards/extent_index.h"
#include "loaders/shards/inflate.h"
#include "loaders/shards/shard_list.h"

namespace feedline {

class ShardDataset : public Dataset {
public:
    // `access`: of compressed shards, as walk_shards() gives it.
    ShardDataset(std::string path, std::string format, ShardList list, ExtentIndex index,
                 std::vector<std::shared_ptr<const AccessPoints>> access = {});

    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        index_.locate(ids, extents);
    }
    Source source(ShardId shard, std::string& scratch) const override;
    std::string path(ShardId shard) const override { return shards_[shard].path; }
    // SHARD#N, the N-th record of a shard from 0, where a format has no keys of its own.
    std::string key(SampleId id) const override;
    bool has_extents() const override { return !compressed_; }
    // One that reads forwards, see stream_reader.h.
    std::unique_ptr<NativeReader> native_reader() const override;
    std::optional<std::int64_t> label(SampleId /*id*/) const override { return std::nullopt; }

protected:
    const ExtentIndex& index() const { return index_; }
    const std::vector<ShardFile>& shards() const { return shards_; }
    void records_hold_checksums() { info_.checksums = true; }

private:
    std::vector<ShardFile> shards_;
    ExtentIndex index_;
    std::vector<std::shared_ptr<const AccessPoints>> access_;  // by shard
    bool compressed_;                                          // at least one is
    DatasetInfo info_;
};

}  // namespace feedline
