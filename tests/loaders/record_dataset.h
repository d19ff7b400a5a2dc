// A dataset made of a list of records, with real files behind it or without.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/fd.h"
#include "loaders/dataset.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {

class RecordDataset final : public Dataset {
public:
    // Records as given; nothing can be opened.
    explicit RecordDataset(std::vector<Extent> records);

    // One file a record, of these lengths, in a directory of its own: what the files format is.
    static std::shared_ptr<RecordDataset> of_files(const std::vector<std::uint64_t>& lengths_bytes);
    // Records one after the other in shards of `a_shard` records, as packed formats have them, with so many bytes that
    // belong to none between them; shards are open.
    static std::shared_ptr<RecordDataset> of_shards(const std::vector<std::uint64_t>& lengths_bytes,
                                                    std::size_t a_shard, std::uint64_t gap_bytes = 0);

    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override;
    Source source(ShardId shard, std::string& scratch) const override;
    std::string path(ShardId shard) const override;
    std::string key(SampleId id) const override { return std::to_string(id); }
    std::optional<std::int64_t> label(SampleId) const override { return std::nullopt; }

    // The bytes that sample `id` was made with.
    std::string content(SampleId id) const;
    const Extent& record(SampleId id) const { return records_[id]; }

private:
    std::string name(ShardId shard) const;

    std::vector<Extent> records_;
    DatasetInfo info_;
    std::unique_ptr<TempDir> directory_;
    Fd directory_fd_;
    std::vector<Fd> shard_fds_;  // empty: shards are opened by name
};

}  // namespace feedline::test
