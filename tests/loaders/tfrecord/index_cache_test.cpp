// Indexes that are kept from one opening to the next.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "loaders/tfrecord/framing.h"
#include "loaders/tfrecord/shard_index.h"
#if FEEDLINE_HAVE_ZLIB
#include "tests/loaders/shards/deflate.h"
#endif
#include "tests/loaders/tfrecord/tfrecord_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::tfrecord {
namespace {

namespace fs = std::filesystem;

class IndexCacheTest : public testing::Test {
protected:
    // Large enough that head and tail are not all of it.
    IndexCacheTest() {
        for (std::uint64_t i = 0; i < 60; ++i) lengths_.push_back((i + 1) * 97 % 900);
        content_ = test::shard_of(lengths_);
    }

    ShardFile write(const std::string& content) const {
        test::write_file(path_, content);
        return {path_, content.size()};
    }
    // As if nobody had been there, for what looks at times.
    void change_unseen(const std::string& content) const {
        struct stat before {};
        ASSERT_EQ(::stat(path_.c_str(), &before), 0);
        write(content);
        const std::array<timespec, 2> times = {before.st_atim, before.st_mtim};
        ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times.data(), 0), 0);
    }
    ShardIndex index(const ShardFile& shard, Nanoseconds from_ns = 0) const {
        return index_shards(std::vector{shard}, {.index_cache = cache_, .index_cache_from_ns = from_ns});
    }
    bool is_right(const ShardIndex& index) const {
        const std::vector<std::uint64_t> begins = test::begins_of(lengths_);
        bool right = index.extents.samples() == lengths_.size();
        for (SampleId id = 0; right && id < lengths_.size(); ++id) {
            const Extent extent = index.extents.extent(id);
            right = extent.offset_bytes == begins[id] && extent.length_bytes == lengths_[id] + kFramingBytes;
        }
        return right;
    }
    std::vector<std::string> kept() const {
        std::vector<std::string> files;
        if (!fs::exists(cache_)) return files;
        for (const auto& entry : fs::directory_iterator(cache_)) files.push_back(entry.path());
        return files;
    }

    test::TempDir directory_;
    std::string path_ = directory_ / "shard.tfrecord";
    std::string cache_ = directory_ / "some/cache";
    std::vector<std::uint64_t> lengths_;
    std::string content_;
};

TEST_F(IndexCacheTest, TheSecondOpeningDoesNotWalk) {
    const ShardFile shard = write(content_);
    EXPECT_TRUE(is_right(index(shard)));
    EXPECT_EQ(kept().size(), 1U);
    // Whoever walks stumbles here.
    std::string broken = content_;
    broken[test::begins_of(lengths_)[30] + 2] ^= 1;
    change_unseen(broken);
    EXPECT_TRUE(is_right(index(shard)));
    EXPECT_THROW(index_shards(std::vector{shard}, {}), Error);
    EXPECT_EQ(kept().size(), 1U);
}

TEST_F(IndexCacheTest, AShardThatChangedIsWalked) {
    index(write(content_));
    std::string broken = content_;
    broken[test::begins_of(lengths_)[30] + 2] ^= 1;
    const ShardFile shard = write(broken);
    fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds(1));
    EXPECT_THROW(index(shard), Error);  // by its time
    write(content_);
    index(shard);
    // By its beginning, by its end, by its size: none of them shows in its times.
    for (const std::string& other :
         {test::framed(test::pattern(lengths_[0], 99)) + content_.substr(lengths_[0] + kFramingBytes),
          content_.substr(0, content_.size() - 1) + '?'}) {
        change_unseen(other);
        broken = other;
        broken[test::begins_of(lengths_)[30] + 2] ^= 1;
        change_unseen(broken);
        EXPECT_THROW(index(shard), Error);
    }
    change_unseen(content_ + test::framed("more"));
    EXPECT_EQ(index({path_, content_.size() + 4 + kFramingBytes}).extents.samples(), lengths_.size() + 1);
}

TEST_F(IndexCacheTest, WhatIsDamagedInTheCacheIsMadeAnew) {
    const ShardFile shard = write(content_);
    index(shard);
    const std::string file = kept().at(0);
    const std::string whole = test::read_file(file);
    for (std::size_t at = 0; at < whole.size(); at += 1 + at / 8) {
        std::string broken = whole;
        broken[at] = static_cast<char>(broken[at] ^ 0x41);
        test::write_file(file, broken);
        EXPECT_TRUE(is_right(index(shard))) << at;
        test::write_file(file, whole.substr(0, at));
        EXPECT_TRUE(is_right(index(shard))) << at;
        EXPECT_EQ(test::read_file(file), whole);
    }
    EXPECT_EQ(kept().size(), 1U);
}

TEST_F(IndexCacheTest, NoPlaceToKeepItIsNoError) {
    const ShardFile shard = write(content_);
    test::write_file(cache_, "a file in the way");
    EXPECT_TRUE(is_right(index(shard)));
    fs::remove(cache_);
    EXPECT_TRUE(is_right(index(shard, 1'000'000'000'000)));
    EXPECT_TRUE(kept().empty()) << "it took less time than is worth it";
}

#if FEEDLINE_HAVE_ZLIB
TEST_F(IndexCacheTest, CompressedShardsKeepWhereTheyCanBeBegun) {
    lengths_ = {};
    for (std::uint64_t i = 0; i < 60; ++i) lengths_.push_back(20'000);
    content_ = test::shard_of(lengths_);
    const std::string stream = test::gzipped(content_);
    const ShardFile shard = write(stream);
    const ShardIndex first = index(shard);
    EXPECT_TRUE(is_right(first));
    const ShardIndex second = index(shard);
    EXPECT_TRUE(is_right(second));
    ASSERT_NE(second.access.at(0), nullptr);
    ASSERT_GT(first.access.at(0)->size(), 2U);
    ASSERT_EQ(second.access[0]->size(), first.access[0]->size());
    for (std::size_t i = 0; i < first.access[0]->size(); ++i) {
        const AccessPoint& a = first.access[0]->points()[i];
        const AccessPoint& b = second.access[0]->points()[i];
        EXPECT_EQ(a.inflated_bytes, b.inflated_bytes);
        EXPECT_EQ(a.file_bytes, b.file_bytes);
        EXPECT_EQ(a.bits, b.bits);
        EXPECT_EQ(a.in_gzip, b.in_gzip);
        EXPECT_TRUE(a.window == b.window);
    }
    const ShardIndex bounded = index_shards(std::vector{shard}, {.window_budget_bytes = 40'000, .index_cache = cache_});
    EXPECT_LE(bounded.access.at(0)->window_bytes(), 40'000U);
}
#endif

}  // namespace
}  // namespace feedline::tfrecord
