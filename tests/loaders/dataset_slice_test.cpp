#include "loaders/dataset_slice.h"

#include <gtest/gtest.h>

#include <numeric>

namespace feedline {
namespace {

// Sample i lies in shard i, at offset 0, and is 100 + i bytes long.
class Numbers final : public Dataset {
public:
    explicit Numbers(std::uint64_t samples) {
        info_.samples = samples;
        info_.shards = samples;
    }
    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        for (std::size_t i = 0; i < ids.size(); ++i) extents[i] = {0, 100 + ids[i], static_cast<ShardId>(ids[i])};
    }
    Source source(ShardId /*shard*/, std::string& /*scratch*/) const override { return {}; }
    std::string path(ShardId shard) const override { return "/" + std::to_string(shard); }
    std::string key(SampleId id) const override { return std::to_string(id); }
    std::optional<std::int64_t> label(SampleId id) const override { return static_cast<std::int64_t>(id); }

private:
    DatasetInfo info_;
};

TEST(DatasetSlice, HoldsTheGivenSamplesInTheGivenOrder) {
    const DatasetSlice slice(std::make_shared<Numbers>(1000), {7, 999, 7, 0});
    EXPECT_EQ(slice.size(), 4U);
    EXPECT_EQ(slice.info().bytes, 107U + 1099U + 107U + 100U);
    EXPECT_EQ(slice.info().max_length_bytes, 1099U);
    const std::vector<SampleId> ids{1, 3, 0};
    std::vector<Extent> extents(3);
    slice.locate(ids, extents);
    EXPECT_EQ(extents[0].shard, 999U);
    EXPECT_EQ(extents[1].shard, 0U);
    EXPECT_EQ(extents[2].length_bytes, 107U);
    EXPECT_EQ(slice.key(1), "999");
    EXPECT_EQ(slice.label(3), 0);
    EXPECT_EQ(slice.path(999), "/999");
}

TEST(DatasetSlice, LocatesManyAtOnce) {
    std::vector<SampleId> ids(1000);
    std::iota(ids.rbegin(), ids.rend(), SampleId{0});
    const DatasetSlice slice(std::make_shared<Numbers>(1000), ids);
    std::vector<SampleId> asked(1000);
    std::iota(asked.begin(), asked.end(), SampleId{0});
    std::vector<Extent> extents(1000);
    slice.locate(asked, extents);
    for (std::size_t i = 0; i < extents.size(); ++i) EXPECT_EQ(extents[i].shard, 999 - i);
}

}  // namespace
}  // namespace feedline
