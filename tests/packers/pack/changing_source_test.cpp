// What becomes of a source that changes, or fails, while it is packed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "core/error.h"
#include "loaders/packed/manifest.h"
#include "packers/pack/pack.h"
#include "tests/packers/pack/pack_lab.h"
#include "tests/packers/pack/source_double.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string with_time_of(const std::string& path, const std::string& content, const std::string& aside) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    write_file(aside, content);
    const timespec times[] = {status.st_atim, status.st_mtim};
    EXPECT_EQ(::utimensat(AT_FDCWD, aside.c_str(), times, 0), 0);
    return aside;
}

// What somebody does to a file in the middle of its being read.
const std::map<std::string, void (*)(const std::string& path)> kChanges = {
    {"Rewritten", [](const std::string& path) { write_file(path, pattern(fs::file_size(path), 77)); }},
    {"Replaced",
     [](const std::string& path) {
         fs::rename(with_time_of(path, pattern(fs::file_size(path), 77), path + ".new"), path);
     }},
    {"RewrittenWithItsTimeSetBack",
     [](const std::string& path) {
         with_time_of(path, "", path + ".aside");
         const auto time = fs::last_write_time(path + ".aside");
         fs::remove(path + ".aside");
         write_file(path, pattern(fs::file_size(path), 77));
         fs::last_write_time(path, time);
     }},
    {"Cut", [](const std::string& path) { fs::resize_file(path, fs::file_size(path) - 1); }},
    {"Grown", [](const std::string& path) { fs::resize_file(path, fs::file_size(path) + 1); }},
    {"Removed", [](const std::string& path) { fs::remove(path); }},
};

class ChangingSource : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        for (unsigned i = 0; i < 6; ++i) write_file(file(i), pattern(3000, i));
        // Times are told in steps of a few milliseconds.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::string file(unsigned i) const { return source_ + "/a/" + std::to_string(i); }

    // Packs what `path` is, and changes `victim` when sample `id` comes.
    PackResult pack_changing(const std::string& path, SampleId id, const std::string& victim, OnError on_error,
                             std::uint64_t shards) {
        const auto source = std::make_shared<SourceDouble>(open_dataset(path, "auto", {}));
        source->when_read(id, [&] { kChanges.at(GetParam())(victim); });
        const Interrupt never;
        return pack(source, find_packer("webdataset"),
                    {.destination = dir_ / "packed", .shards = shards, .threads = 1, .on_error = on_error}, {}, never);
    }
    // The same, which fails.
    Error failure(const std::string& path, SampleId id, const std::string& victim, OnError on_error,
                  std::uint64_t shards) {
        try {
            pack_changing(path, id, victim, on_error, shards);
        } catch (const Error& error) {
            EXPECT_FALSE(fs::exists(dir_ / "packed"));
            return error;
        }
        return {ErrorKind::internal, "nothing was thrown"};
    }

    TempDir dir_;
    std::string source_ = dir_ / "source";
};

TEST_P(ChangingSource, StopsTheRunWhichGoesOnAfterwards) {
    // The large file comes in pieces, so its beginning would be of the old one and its end of the new one.
    write_file(file(4), pattern(9U << 20U, 4));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Error error = failure(source_, 4, file(4), OnError::stop, 3);
    EXPECT_EQ(error.kind(), ErrorKind::changed) << error.what();
    EXPECT_EQ(error.path(), file(4));
    if (GetParam() == "Cut" || GetParam() == "Grown" || GetParam() == "Removed")
        write_file(file(4), pattern(9U << 20U, 5));
    const PackResult result =
        pack_directory(source_, dir_ / "packed", "webdataset", {.shards = 3, .threads = 1, .resume = true});
    EXPECT_GT(result.resumed_shards, 0U);
    pack_directory(source_, dir_ / "whole", "webdataset", {.shards = 3});
    EXPECT_TRUE(tree(dir_ / "packed") == tree(dir_ / "whole"));
}

TEST_P(ChangingSource, IsLeftOutWhereToldSo) {
    const PackResult result = pack_changing(source_, 1, file(1), OnError::skip, 1);
    ASSERT_EQ(result.manifest.left_out(), 1U);
    EXPECT_EQ(result.manifest.shards[0].left_out[0].path, "a/1");
    EXPECT_THAT(result.manifest.shards[0].left_out[0].why, HasSubstr("changed"));
    EXPECT_EQ(result.manifest.samples(), 5U);
}

TEST_P(ChangingSource, IsNoticedInShardsOfOthersAtAnyTime) {
    // Of nobody's, so that nothing but the files themselves can tell.
    pack_directory(source_, dir_ / "tars", "webdataset", {.name = "t", .shards = 3});
    for (const auto& entry : fs::directory_iterator(dir_ / "tars")) {
        if (entry.path().extension() != ".tar") fs::remove(entry.path());
    }
    const std::string first = dir_ / "tars/t-000000.tar";
    const std::string last = dir_ / "tars/t-000002.tar";
    // While it is read, and before its turn comes.
    for (const std::string& victim : {first, last}) {
        const std::string kept = read_file(victim);
        const Error error = failure(dir_ / "tars", 0, victim, OnError::stop, 1);
        EXPECT_EQ(error.kind(), ErrorKind::changed) << error.what();
        EXPECT_EQ(error.path(), victim);
        write_file(victim, kept);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const PackResult result = pack_changing(dir_ / "tars", 0, first, OnError::skip, 1);
    const auto& left_out = result.manifest.shards[0].left_out;
    ASSERT_EQ(left_out.size(), 2U);
    for (std::size_t i = 0; i < left_out.size(); ++i) EXPECT_EQ(left_out[i].path, "a/" + std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(Ways, ChangingSource,
                         ::testing::Values("Rewritten", "Replaced", "RewrittenWithItsTimeSetBack", "Cut", "Grown",
                                           "Removed"),
                         [](const auto& one) { return one.param; });

// A file of small ones, and a shard of a packed dataset, on a part of the disk that is broken.
class BrokenSource : public ::testing::TestWithParam<bool> {};

TEST_P(BrokenSource, StopsTheRunWhichGoesOnWhenItIsRepairedOrIsLeftOut) {
    const TempDir dir;
    for (unsigned i = 0; i < 6; ++i) write_file(dir / "source/a/" + std::to_string(i), pattern(3000, i));
    std::string path = dir / "source";
    if (GetParam()) {
        path = dir / "tars";
        pack_directory(dir / "source", path, "webdataset", {.shards = 6});
        for (const auto& entry : fs::directory_iterator(path)) {
            if (entry.path().extension() != ".tar") fs::remove(entry.path());
        }
    }
    const auto source = std::make_shared<SourceDouble>(open_dataset(path, "auto", {}));
    const Interrupt never;
    PackOptions options{.destination = dir / "packed", .shards = 3, .threads = 1};
    source->break_file(2);
    try {
        pack(source, find_packer("webdataset"), options, {}, never);
        FAIL() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
        EXPECT_EQ(error.error_number(), EIO);
        EXPECT_EQ(error.path(), source->path(2));
        EXPECT_EQ(error.offset_bytes(), 0U);
    }
    EXPECT_FALSE(fs::exists(dir / "packed"));
    source->repair();
    options.resume = true;
    EXPECT_EQ(pack(source, find_packer("webdataset"), options, {}, never).resumed_shards, 1U);
    pack_directory(path, dir / "whole", "webdataset", {.shards = 3});
    EXPECT_TRUE(tree(dir / "packed") == tree(dir / "whole"));

    source->break_file(2);
    const PackResult result =
        pack(source, find_packer("webdataset"),
             {.destination = dir / "rest", .shards = 3, .threads = 1, .on_error = OnError::skip}, {}, never);
    EXPECT_EQ(result.manifest.samples(), 5U);
    ASSERT_EQ(result.manifest.shards[1].left_out.size(), 1U);
    EXPECT_EQ(result.manifest.shards[1].left_out[0].path, "a/2");
    EXPECT_EQ(result.manifest.shards[1].left_out[0].why, "I/O error");
}

INSTANTIATE_TEST_SUITE_P(Sources, BrokenSource, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "Packed" : "Files"; });

}  // namespace
}  // namespace feedline::test
