// A dataset that something happens to while it is packed.
#pragma once

#include <fcntl.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "loaders/dataset.h"

namespace feedline::test {

class SourceDouble final : public Dataset {
public:
    explicit SourceDouble(std::shared_ptr<const Dataset> real) : real_(std::move(real)) {}

    // `happens` once, when the first bytes of `victim` have been read and are about to be written.
    void when_read(SampleId victim, std::function<void()> happens) {
        victim_ = victim;
        happens_ = std::move(happens);
    }
    // Every read of that file gives EIO until it is repaired. Address 0 of a process is mapped nowhere.
    void break_file(ShardId shard) { broken_ = shard; }
    void repair() { broken_.reset(); }

    const DatasetInfo& info() const override { return real_->info(); }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        real_->locate(ids, extents);
        for (Extent& extent : extents) {
            if (extent.shard == broken_) extent.offset_bytes = 0;
        }
    }
    Source source(ShardId shard, std::string& scratch) const override {
        if (shard != broken_) return real_->source(shard, scratch);
        return {.fd = -1, .dir_fd = AT_FDCWD, .name = "/proc/self/mem", .whole_file = false};
    }
    std::string path(ShardId shard) const override { return real_->path(shard); }
    std::string key(SampleId id) const override { return real_->key(id); }
    std::optional<std::int64_t> label(SampleId id) const override { return real_->label(id); }
    bool has_extents() const override { return real_->has_extents(); }
    std::unique_ptr<NativeReader> native_reader() const override { return real_->native_reader(); }
    SampleViews views(SampleId id, std::span<const std::byte> record) const override {
        return real_->views(id, record);
    }
    std::string check(SampleId id, std::span<const std::byte> record) const override {
        if (id == victim_ && happens_) std::exchange(happens_, {})();
        return real_->check(id, record);
    }

private:
    std::shared_ptr<const Dataset> real_;
    std::optional<SampleId> victim_;
    mutable std::function<void()> happens_;  // one shard's thread calls it
    std::optional<ShardId> broken_;
};

}  // namespace feedline::test
