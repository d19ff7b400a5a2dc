#include "packers/verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "loaders/packed/manifest.h"
#include "loaders/tfrecord/example.h"
#include "tests/packers/pack/pack_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

VerifyResult verified(const std::string& path, const std::string& against = {}) {
    const Interrupt never;
    return verify(path, {.format = "auto", .against = against, .threads = 1}, {}, never);
}

class Verified : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == "tfrecord" && !tfrecord::can_parse_examples()) GTEST_SKIP() << "no protobuf";
        for (unsigned i = 0; i < 6; ++i) {
            write_file(source_ + (i < 3 ? "/a/" : "/b/") + std::to_string(i) + ".jpg", pattern(20 + i, i));
        }
        pack_directory(source_, packed_, GetParam(), {.shards = 2});
    }

    TempDir dir_{"/dev/shm"};  // disks flush a file that is written anew
    std::string source_ = dir_ / "source";
    std::string packed_ = dir_ / "packed";
};

TEST_P(Verified, HoldsAsItWasWritten) {
    EXPECT_EQ(verified(packed_).found, 0U);
    const VerifyResult compared = verified(packed_, source_);
    EXPECT_EQ(compared.found, 0U);
    EXPECT_EQ(compared.compared, 6U);
}

TEST_P(Verified, FindsBytesThatAreNotAsTheyWereWhereverTheyAre) {
    for (const auto& [name, bytes] : tree(packed_)) {
        const std::string file = packed_ + "/" + name;
        const std::size_t step = 1 + bytes.size() / 200;
        for (std::size_t at = 0; at < bytes.size(); at += step) {
            std::string flipped = bytes;
            flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
            write_file(file, flipped);
            EXPECT_GT(verified(packed_).found, 0U) << name << " byte " << at;
        }
        write_file(file, bytes);
    }
}

TEST_P(Verified, FindsEveryCutAndWhatIsMissing) {
    for (const auto& [name, bytes] : tree(packed_)) {
        const std::string file = packed_ + "/" + name;
        const std::size_t step = 1 + bytes.size() / 50;
        for (std::size_t size = 0; size < bytes.size(); size += step) {
            write_file(file, bytes.substr(0, size));
            EXPECT_GT(verified(packed_).found, 0U) << name << " cut at " << size;
        }
        write_file(file, bytes);
        if (name == "feedline.manifest.json") continue;  // without it the dataset is one of anybody's
        fs::rename(file, dir_ / "aside");
        EXPECT_GT(verified(packed_).found, 0U) << name << " missing";
        fs::rename(dir_ / "aside", file);
    }
}

TEST_P(Verified, NamesTheSampleThatIsDamaged) {
    // Its content is found in the shard by looking for it.
    const std::string content = pattern(24, 4);
    for (const auto& file : tree(packed_)) {
        const std::string& name = file.first;
        const std::string& bytes = file.second;
        const std::size_t at = bytes.find(content);
        if (at == std::string::npos) continue;
        std::string flipped = bytes;
        flipped[at + 5] = static_cast<char>(flipped[at + 5] ^ 1);
        write_file(packed_ + "/" + name, flipped);
        const VerifyResult result = verified(packed_);
        const bool named = std::any_of(result.findings.begin(), result.findings.end(), [&](const Finding& finding) {
            return finding.sample.find("b/4") != std::string::npos && finding.offset_bytes &&
                   finding.path.ends_with(name);
        });
        EXPECT_TRUE(named) << testing::PrintToString(result.found);
        return;
    }
    FAIL() << "the sample is nowhere";
}

TEST_P(Verified, ComparesLabelsUnlessTheyWereChosenOtherwise) {
    fs::create_directory(source_ + "/0");  // a class of its own before the others: their numbers move
    write_file(source_ + "/0/new.jpg", "new");
    const VerifyResult moved = verified(packed_, source_);
    EXPECT_TRUE(moved.labels_compared);
    EXPECT_EQ(moved.found, 7U);  // six labels, and the sample that is new
    fs::remove_all(source_ + "/0");
    pack_directory(source_, dir_ / "unlabelled", GetParam(), {.labels = "none"});
    const VerifyResult unlabelled = verified(dir_ / "unlabelled", source_);
    EXPECT_FALSE(unlabelled.labels_compared);
    EXPECT_EQ(unlabelled.found, 0U);
}

TEST_P(Verified, IsComparedByThePathsInItsRecordsWhereNothingElseRemembers) {
    fs::remove(packed_ + "/feedline.manifest.json");
    for (const auto& [name, bytes] : tree(packed_)) {
        if (name.ends_with(".samples")) fs::remove(packed_ + "/" + name);
    }
    const VerifyResult same = verified(packed_, source_);
    EXPECT_EQ(same.found, 0U) << to_text(same.findings.at(0));
    EXPECT_EQ(same.compared, 6U);
    write_file(source_ + "/b/4.jpg", pattern(24, 77));
    EXPECT_EQ(verified(packed_, source_).found, 1U);
    // Of another source, in one line.
    write_file(dir_ / "other/x.jpg", "x");
    const VerifyResult strange = verified(packed_, dir_ / "other");
    ASSERT_EQ(strange.found, 1U);
    EXPECT_THAT(to_text(strange.findings[0]), HasSubstr("6 samples cannot be matched with the source"));
    EXPECT_FALSE(strange.labels_compared);
}

TEST_P(Verified, FindsWhatTheSourceHasBecome) {
    write_file(source_ + "/b/4.jpg", pattern(24, 77));
    VerifyResult result = verified(packed_, source_);
    ASSERT_EQ(result.found, 1U);
    EXPECT_THAT(to_text(result.findings[0]), HasSubstr("b/4"));
    EXPECT_THAT(to_text(result.findings[0]), HasSubstr("byte 0"));
    write_file(source_ + "/b/4.jpg", pattern(24, 4));
    write_file(source_ + "/b/new.jpg", "new");
    result = verified(packed_, source_);
    EXPECT_EQ(result.found, 1U);
    fs::remove(source_ + "/b/new.jpg");
    fs::remove(source_ + "/a/1.jpg");
    EXPECT_GT(verified(packed_, source_).found, 0U);
}

std::vector<std::string> formats() {
    std::vector<std::string> names;
    for (const Packer* packer : all_packers()) names.emplace_back(packer->format());
    return names;
}

INSTANTIATE_TEST_SUITE_P(Every, Verified, ::testing::ValuesIn(formats()), [](const auto& one) { return one.param; });

TEST(Verify, FindsAShardThatTheManifestDoesNotName) {
    const TempDir dir;
    write_file(dir / "source/a/1.jpg", pattern(100, 1));
    pack_directory(dir / "source", dir / "packed", "webdataset");
    fs::copy_file(dir / "packed/source-000000.tar", dir / "packed/source-000001.tar");
    EXPECT_EQ(verified(dir / "packed").found, 1U);
}

TEST(Verify, FindsAManifestOfAnotherFormatThanTheShards) {
    const TempDir dir;
    write_file(dir / "source/a/1.jpg", pattern(100, 1));
    pack_directory(dir / "source", dir / "packed", "webdataset");
    for (const char* format : {"tfrecord", "zip"}) {
        Manifest manifest = read_manifest(dir / "packed").value();
        manifest.format = format;
        write_file(dir / "packed/feedline.manifest.json", to_text(manifest));  // its checksum is right
        const VerifyResult result = verified(dir / "packed");
        ASSERT_EQ(result.found, 1U) << format;
        EXPECT_THAT(result.findings[0].what, HasSubstr(format));
        EXPECT_THAT(result.findings[0].path, HasSubstr("manifest"));
    }
}

TEST(Verify, FindsThatAShardOfOtherPeoplesSetIsMissing) {
    const TempDir dir;
    for (const char* name : {"1", "2", "3"}) write_file(dir / "source/a/" + name + ".jpg", pattern(100, 1));
    pack_directory(dir / "source", dir / "packed", "tfrecord", {.shards = 3});
    fs::remove(dir / "packed/feedline.manifest.json");
    EXPECT_EQ(verified(dir / "packed").found, 0U);
    for (const auto& [name, bytes] : tree(dir / "packed")) {
        if (name.starts_with("source-00001-of")) fs::remove(dir / "packed/" + name);
    }
    const VerifyResult result = verified(dir / "packed");
    ASSERT_EQ(result.found, 1U);
    EXPECT_THAT(to_text(result.findings[0]), HasSubstr("missing: source-00001-of-00003.tfrecord"));
}

TEST(Verify, JudgesOtherPeoplesDatasetsByWhatTheySayThemselves) {
    const TempDir dir;
    write_file(dir / "source/a/1.jpg", pattern(100, 1));
    pack_directory(dir / "source", dir / "packed", "tfrecord");
    fs::remove(dir / "packed/feedline.manifest.json");
    VerifyResult result = verified(dir / "packed");
    EXPECT_FALSE(result.has_manifest);
    EXPECT_TRUE(result.has_checksums);
    EXPECT_EQ(result.found, 0U);
    const std::string shard = dir / "packed/source-00000-of-00001.tfrecord";
    std::string bytes = read_file(shard);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file(shard, bytes);
    EXPECT_EQ(verified(dir / "packed").found, 1U);
    EXPECT_THROW((void)verified(dir / "source"), Error);  // a folder promises nothing
}

}  // namespace
}  // namespace feedline::test
