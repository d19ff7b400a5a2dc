#include "loaders/shards/extent_index.h"

#include <gtest/gtest.h>

#include <vector>

namespace feedline {
namespace {

TEST(ExtentIndex, KeepsLengthsOfFourGibibytesAndMore) {
    const std::vector<std::uint64_t> lengths = {0, 1, UINT32_MAX - 1UL, UINT32_MAX, UINT32_MAX + 1UL, 1UL << 40U};
    ExtentIndex index;
    std::uint64_t at = 0;
    for (const std::uint64_t length : lengths) {
        index.begin_shard();
        index.add(at, length);
        at += length;
    }
    std::vector<SampleId> ids;
    for (SampleId id = lengths.size(); id-- > 0;) ids.push_back(id);
    std::vector<Extent> extents(ids.size());
    index.locate(ids, extents);
    for (std::size_t k = 0; k < ids.size(); ++k) {
        EXPECT_EQ(extents[k].length_bytes, lengths[ids[k]]);
        EXPECT_EQ(extents[k].shard, ids[k]);
    }
    EXPECT_EQ(index.bytes(), at);
    EXPECT_EQ(index.max_length_bytes(), 1UL << 40U);
}

TEST(ExtentIndex, EmptyShardsHoldNoSample) {
    ExtentIndex index;
    index.begin_shard();
    index.begin_shard();
    index.add(0, 5);
    index.begin_shard();
    index.begin_shard();
    index.add(0, 6);
    index.begin_shard();
    EXPECT_EQ(index.extent(0).shard, 1U);
    EXPECT_EQ(index.extent(1).shard, 3U);
    EXPECT_EQ(index.first_sample(4), 2U);
    EXPECT_EQ(index.first_sample(5), 2U);
    EXPECT_EQ(index.shards(), 5U);
}

}  // namespace
}  // namespace feedline
