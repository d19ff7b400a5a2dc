// Some samples of a dataset, in a given order, as a dataset of their own. Thread-safe like any Dataset.
#pragma once

#include <memory>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

class DatasetSlice final : public Dataset {
public:
    // `ids` are samples of `whole`, at least one.
    DatasetSlice(std::shared_ptr<const Dataset> whole, std::vector<SampleId> ids);

    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override;
    Source source(ShardId shard, std::string& scratch) const override { return whole_->source(shard, scratch); }
    std::string path(ShardId shard) const override { return whole_->path(shard); }
    std::string key(SampleId id) const override { return whole_->key(ids_[id]); }
    std::optional<std::int64_t> label(SampleId id) const override { return whole_->label(ids_[id]); }
    bool has_extents() const override { return whole_->has_extents(); }
    std::unique_ptr<NativeReader> native_reader() const override;
    SampleViews views(SampleId id, std::span<const std::byte> record) const override {
        return whole_->views(ids_[id], record);
    }
    std::span<const std::byte> payload(SampleId id, std::span<const std::byte> record) const override {
        return whole_->payload(ids_[id], record);
    }
    std::string check(SampleId id, std::span<const std::byte> record) const override {
        return whole_->check(ids_[id], record);
    }

private:
    std::shared_ptr<const Dataset> whole_;
    std::vector<SampleId> ids_;
    DatasetInfo info_;
};

}  // namespace feedline
