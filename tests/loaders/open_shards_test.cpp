#include "loaders/open_shards.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "loaders/shards/shard_dataset.h"
#include "tests/loaders/record_dataset.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

class OpenShardsTest : public testing::Test {
protected:
    // `count` shards of one record each.
    std::unique_ptr<ShardDataset> shards(unsigned count) {
        ShardList list;
        ExtentIndex index;
        for (unsigned shard = 0; shard < count; ++shard) {
            const std::string path = directory_ / std::to_string(shard);
            test::write_file(path, "record");
            list.shards.push_back({path, 6});
            index.begin_shard();
            index.add(0, 6);
        }
        return std::make_unique<ShardDataset>(directory_.path(), "test", std::move(list), std::move(index));
    }

    test::TempDir directory_;
};

TEST_F(OpenShardsTest, AShardIsOpenedOnceAndStaysOpen) {
    const auto dataset = shards(3);
    OpenShards open(*dataset, false, 10);
    std::string scratch;
    const int first = open.source(1, scratch).fd;
    EXPECT_GE(first, 0);
    EXPECT_EQ(open.source(1, scratch).fd, first);
    EXPECT_NE(open.source(2, scratch).fd, first);
    EXPECT_EQ(fcntl(first, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(OpenShardsTest, BeyondTheBudgetShardsAreOpenedByName) {
    const auto dataset = shards(3);
    OpenShards open(*dataset, false, 2);
    std::string scratch;
    EXPECT_GE(open.source(0, scratch).fd, 0);
    EXPECT_GE(open.source(1, scratch).fd, 0);
    const Source third = open.source(2, scratch);
    EXPECT_EQ(third.fd, -1);
    EXPECT_EQ(std::string(third.name), directory_ / "2");
    EXPECT_GE(open.source(0, scratch).fd, 0);
}

TEST_F(OpenShardsTest, WhatCannotBeOpenedIsLeftToTheEngineAndCostsNoBudget) {
    const auto dataset = shards(2);
    ASSERT_EQ(unlink((directory_ / "0").c_str()), 0);
    OpenShards open(*dataset, false, 1);
    std::string scratch;
    EXPECT_EQ(open.source(0, scratch).fd, -1);
    EXPECT_GE(open.source(1, scratch).fd, 0);
}

TEST_F(OpenShardsTest, ManyThreadsAgreeOnOneDescriptorAShard) {
    constexpr unsigned kShards = 50;
    const auto dataset = shards(kShards);
    OpenShards open(*dataset, false, 1000);
    std::vector<std::vector<int>> seen(8, std::vector<int>(kShards));
    {
        std::vector<std::jthread> threads;
        threads.reserve(seen.size());
        for (std::vector<int>& mine : seen) {
            threads.emplace_back([&] {
                std::string scratch;
                for (ShardId shard = 0; shard < kShards; ++shard) mine[shard] = open.source(shard, scratch).fd;
            });
        }
    }
    for (const std::vector<int>& mine : seen) EXPECT_EQ(mine, seen.front());
    EXPECT_EQ(std::set<int>(seen.front().begin(), seen.front().end()).size(), kShards);
}

TEST_F(OpenShardsTest, DescriptorsAreClosedInTheEnd) {
    const auto dataset = shards(1);
    int fd = -1;
    {
        OpenShards open(*dataset, false, 1);
        std::string scratch;
        fd = open.source(0, scratch).fd;
    }
    EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

TEST(OpenShards, FilesThatAreOneSampleAreNotHeldOpen) {
    const auto dataset = test::RecordDataset::of_files({1, 2, 3});
    OpenShards open(*dataset, false, 100);
    std::string scratch;
    EXPECT_EQ(open.source(0, scratch).fd, -1);
}

}  // namespace
}  // namespace feedline
