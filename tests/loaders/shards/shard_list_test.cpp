#include "loaders/shards/shard_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What begins with an S is a shard.
bool sniff(const std::string& path) {
    return test::read_file(path).starts_with("S");
}

class ShardListTest : public testing::Test {
protected:
    void shard(const std::string& name) { test::write_file(directory_ / name, "S"); }
    void other(const std::string& name) { test::write_file(directory_ / name, "x"); }
    ShardList list(const std::string& path) { return list_shards(path, "test", sniff); }
    std::vector<std::string> names(const std::string& path) {
        std::vector<std::string> found;
        for (const ShardFile& file : list(path).shards) found.push_back(file.path.substr(file.path.rfind('/') + 1));
        return found;
    }
    std::string error(const std::string& path) {
        try {
            list(path);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            return error.what();
        }
        ADD_FAILURE() << "nothing was thrown";
        return "";
    }

    test::TempDir directory_;
};

TEST_F(ShardListTest, AFileIsItsOnlyShard) {
    shard("one");
    EXPECT_THAT(names(directory_ / "one"), ElementsAre("one"));
}

TEST_F(ShardListTest, ADirectorysShardsAreInTheOrderOfTheirNames) {
    for (const char* name : {"b-10", "b-2", "a", "ä", ".hidden", "a.idx", "a.samples", "dataset_info.json"})
        shard(name);
    other("README");
    EXPECT_THAT(names(directory_.path()), ElementsAre("a", "b-10", "b-2", "ä"));
    const ShardList found = list(directory_.path());
    ASSERT_EQ(found.oddities.size(), 1U);
    EXPECT_EQ(found.oddities[0].kind, "file of another kind");
    EXPECT_EQ(found.oddities[0].example, "README");
}

TEST_F(ShardListTest, LinksThatLeadNowhereAndWhatIsNoFileAreSaid) {
    shard("a-0.s");
    ASSERT_EQ(symlink("nowhere", (directory_ / "a-1.s").c_str()), 0);
    ASSERT_EQ(mkfifo((directory_ / "a-2.s").c_str(), 0600), 0);
    const ShardList found = list(directory_.path());
    ASSERT_EQ(found.oddities.size(), 2U);
    EXPECT_EQ(found.oddities[0].kind, "link that leads nowhere");
    EXPECT_EQ(found.oddities[0].example, "a-1.s");
    EXPECT_EQ(found.oddities[1].kind, "pipe, socket or device");
    EXPECT_EQ(found.oddities[1].example, "a-2.s");
}

TEST_F(ShardListTest, OneThatIsEmptyOrDamagedDoesNotMakeTheOthersSmallFiles) {
    test::write_file(directory_ / "a-0.s", "");
    other("a-1.s");
    shard("a-2.s");
    shard("a-3.s");
    EXPECT_TRUE(shards_look_like(directory_.path(), sniff));
    ASSERT_EQ(list(directory_.path()).oddities.size(), 1U);
    EXPECT_EQ(list(directory_.path()).oddities[0].count, 2U);
    other("a-1.jpg");
    EXPECT_FALSE(shards_look_like(directory_.path(), sniff));
}

TEST_F(ShardListTest, APatternSelects) {
    for (const char* name : {"train-0", "train-1", "test-0"}) shard(name);
    EXPECT_THAT(names(directory_ / "train-*"), ElementsAre("train-0", "train-1"));
    EXPECT_THAT(names(directory_ / "t*-[0]"), ElementsAre("test-0", "train-0"));
    EXPECT_THAT(error(directory_ / "valid-*"), HasSubstr("matches this pattern"));
}

TEST_F(ShardListTest, ANameThatLooksLikeAPatternIsTheFileOfThatName) {
    shard("a[1]");
    shard("a1");
    EXPECT_THAT(names(directory_ / "a[1]"), ElementsAre("a[1]"));
}

TEST_F(ShardListTest, MissingShardsOfANumberedSetAreNamed) {
    for (const char* name : {"t-00000-of-00004.tfrecord", "t-00003-of-00004.tfrecord", "v-00000-of-00001"}) shard(name);
    const ShardList found = list(directory_.path());
    EXPECT_EQ(found.shards.size(), 3U);
    ASSERT_EQ(found.oddities.size(), 1U);
    EXPECT_EQ(found.oddities[0].kind, "missing shard");
    EXPECT_EQ(found.oddities[0].count, 2U);
    EXPECT_EQ(found.oddities[0].example, "t-00001-of-00004.tfrecord");
}

TEST_F(ShardListTest, TheLastShardsAreMissedToo) {
    shard("t-00000-of-00003");
    const ShardList found = list(directory_.path());
    ASSERT_EQ(found.oddities.size(), 1U);
    EXPECT_EQ(found.oddities[0].count, 2U);
    EXPECT_EQ(found.oddities[0].example, "t-00001-of-00003");
}

TEST_F(ShardListTest, AShardThatIsNamedAloneIsReadAloneAndMissesThoseThatAreNotThere) {
    shard("t-00001-of-00003");
    const ShardList alone = list(directory_ / "t-00001-of-00003");
    EXPECT_EQ(alone.shards.size(), 1U);
    ASSERT_EQ(alone.oddities.size(), 1U);
    EXPECT_EQ(alone.oddities[0].count, 2U);
    EXPECT_EQ(alone.oddities[0].example, "t-00000-of-00003");
    shard("t-00000-of-00003");
    shard("t-00002-of-00003");
    EXPECT_TRUE(list(directory_ / "t-00001-of-00003").oddities.empty());
}

TEST_F(ShardListTest, NothingThereIsSaid) {
    EXPECT_THAT(error(directory_.path()), HasSubstr("no data files"));
    other("a");
    EXPECT_THAT(error(directory_.path()), HasSubstr("such as a"));
    EXPECT_THAT(error(directory_ / "none"), HasSubstr("cannot find"));
    ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(error(directory_ / "pipe"), HasSubstr("neither a file nor a directory"));
}

TEST_F(ShardListTest, GitLfsPointersAreSaidToBeNoData) {
    test::write_file(directory_ / "p",
                     "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, '0') + "\nsize 5\n");
    shard("a");
    for (const std::string& path : {directory_ / "p", directory_.path()}) {
        try {
            list(path);
            ADD_FAILURE() << "nothing was thrown for " << path;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::corrupt);
            EXPECT_THAT(error.what(), HasSubstr("Git LFS pointer"));
        }
    }
}

TEST_F(ShardListTest, ADirectoryOfFoldersOrOfOtherFilesDoesNotLookLikeShards) {
    shard("a");
    EXPECT_TRUE(shards_look_like(directory_.path(), sniff));
    test::write_file(directory_ / "class/file", "S");
    EXPECT_FALSE(shards_look_like(directory_.path(), sniff));
    test::TempDir second;
    test::write_file(second / "a", "x");
    test::write_file(second / "b", "S");
    EXPECT_FALSE(shards_look_like(second.path(), sniff));
}

}  // namespace
}  // namespace feedline
