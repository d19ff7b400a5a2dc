#include "loaders/files/files_format.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "tests/loaders/files/tree_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::open_files;
using test::TempDir;
using test::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Error error_of(const std::string& path, std::string_view format) {
    try {
        open_dataset(path, format, {});
    } catch (const Error& error) {
        return error;
    }
    return {ErrorKind::internal, "nothing was thrown"};
}

TEST(FilesFormat, SamplesAreSortedByteWiseAndEachIsItsFile) {
    const TempDir root;
    write_file(root / "b/x/deep", "deep");
    write_file(root / "b/z", "zz");
    write_file(root / "b/a", "a");
    write_file(root / "2/one", "1");
    write_file(root / "100/two", "two");
    write_file(root / "top", "at the root");
    const auto dataset = open_files(root.path());

    EXPECT_THAT(test::keys(*dataset), ElementsAre("top", "100/two", "2/one", "b/a", "b/z", "b/x/deep"));
    std::vector<std::string> contents;
    for (SampleId id = 0; id < dataset->size(); ++id) contents.push_back(test::content(*dataset, id));
    EXPECT_THAT(contents, ElementsAre("at the root", "two", "1", "a", "zz", "deep"));
    EXPECT_EQ(dataset->path(1), root / "100/two");

    const std::vector<SampleId> ids = {5, 0, 0};
    std::vector<Extent> extents(ids.size());
    dataset->locate(ids, extents);
    EXPECT_EQ(extents[0].length_bytes, 4U);
    EXPECT_EQ(extents[0].shard, 5U);
    EXPECT_EQ(extents[1].length_bytes, 11U);
    EXPECT_EQ(extents[2].length_bytes, 11U);
    EXPECT_EQ(dataset->info().bytes, 22U);
    EXPECT_EQ(dataset->info().max_length_bytes, 11U);
}

TEST(FilesFormat, LabelsFollowTheSortedNamesOfTheFirstDirectories) {
    const TempDir root;
    write_file(root / "2/one", "1");
    write_file(root / "100/two", "2");
    write_file(root / "b/x/deep", "3");
    write_file(root / "b/other", "3");
    write_file(root / "top", "4");
    const auto dataset = open_files(root.path());

    ASSERT_EQ(dataset->info().classes.size(), 3U);
    EXPECT_EQ(dataset->info().classes[0].name, "100");
    EXPECT_EQ(dataset->info().classes[1].name, "2");
    EXPECT_EQ(dataset->info().classes[2].name, "b");
    EXPECT_EQ(dataset->info().classes[2].label, 2);
    EXPECT_EQ(dataset->info().classes[2].samples, 2U);
    EXPECT_EQ(dataset->label(0), std::nullopt);
    EXPECT_EQ(dataset->label(1), 0);
    EXPECT_EQ(dataset->label(2), 1);
    EXPECT_EQ(dataset->label(3), 2);
    EXPECT_EQ(dataset->label(4), 2);
    EXPECT_THAT(test::oddities(*dataset), ElementsAre("1 file outside any class: top"));
}

TEST(FilesFormat, FilesAtTheRootAloneHaveNoClassAndAreNothingOdd) {
    const TempDir root;
    write_file(root / "a", "1");
    const auto dataset = open_files(root.path() + "/");
    EXPECT_THAT(dataset->info().classes, IsEmpty());
    EXPECT_THAT(dataset->info().oddities, IsEmpty());
    EXPECT_EQ(dataset->label(0), std::nullopt);
    EXPECT_EQ(dataset->path(0), root / "a");
}

TEST(FilesFormat, NamesMayBeAnyBytes) {
    const TempDir root;
    const std::vector<std::string> names = {"a\nb", "a b.c.d.", "caf\xC3\xA9", "\xFF\xFE", "-rf", std::string(255, 'x'),
                                            "*"};
    for (const std::string& name : names) write_file(root / ("one/" + name), name);
    write_file(root / "\xFF/a b.c.d.", "in another class");
    const auto dataset = open_files(root.path());

    EXPECT_THAT(test::keys(*dataset), ElementsAre("one/*", "one/-rf", "one/a\nb", "one/a b.c.d.", "one/caf\xC3\xA9",
                                                  "one/" + std::string(255, 'x'), "one/\xFF\xFE", "\xFF/a b.c.d."));
    for (SampleId id = 0; id < names.size(); ++id) EXPECT_EQ("one/" + test::content(*dataset, id), dataset->key(id));
    EXPECT_EQ(test::content(*dataset, names.size()), "in another class");
}

TEST(FilesFormat, LengthsAboveFourGiBAreExact) {
    const TempDir root;
    const std::vector<std::uint64_t> lengths = {(1ULL << 32U) - 2, (1ULL << 32U) - 1, 1ULL << 32U, (5ULL << 30U) + 7};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const std::string path = root / ("c/" + std::to_string(i));
        write_file(path, "x");
        ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(lengths[i])), 0);
    }
    write_file(root / "c/0small", "x");
    write_file(root / "d/last", "xy");
    const auto dataset = open_files(root.path());
    EXPECT_THAT(test::keys(*dataset), ElementsAre("c/0", "c/0small", "c/1", "c/2", "c/3", "d/last"));
    EXPECT_EQ(test::length_bytes(*dataset, 0), lengths[0]);
    EXPECT_EQ(test::length_bytes(*dataset, 1), 1U);
    EXPECT_EQ(test::length_bytes(*dataset, 2), lengths[1]);
    EXPECT_EQ(test::length_bytes(*dataset, 3), lengths[2]);
    EXPECT_EQ(test::length_bytes(*dataset, 4), lengths[3]);
    EXPECT_EQ(test::length_bytes(*dataset, 5), 2U);
    EXPECT_EQ(dataset->info().max_length_bytes, lengths[3]);
    EXPECT_EQ(dataset->info().bytes, lengths[0] + lengths[1] + lengths[2] + lengths[3] + 3);
}

TEST(FilesFormat, PathsLongerThanPathMaxAreReached) {
    const TempDir root;
    write_file(root / "c/shallow", "shallow");
    // Deeper than any single system call can name, so made step by step.
    const std::string component(200, 'd');
    Fd at(::open(root.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int depth = 0; depth < 50; ++depth) {
        ASSERT_EQ(mkdirat(at.get(), component.c_str(), 0755), 0);
        at = Fd(openat(at.get(), component.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ASSERT_TRUE(at);
        const Fd file(openat(at.get(), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        ASSERT_EQ(write(file.get(), "deep", 4), 4);
    }
    const auto dataset = open_files(root.path());
    ASSERT_EQ(dataset->size(), 51U);
    EXPECT_EQ(dataset->key(50).size(), 50 * 201 + 1U);
    for (SampleId id = 1; id < dataset->size(); ++id) EXPECT_EQ(test::content(*dataset, id), "deep");
}

TEST(FilesFormat, AnEmptyDirectoryIsAUsageErrorThatSaysWhatWasFound) {
    const TempDir root;
    EXPECT_THAT(error_of(root.path(), "files").what(), HasSubstr("Found instead: nothing"));
    test::make_link("nowhere", root / "link");
    test::make_directory(root / "class");
    const Error error = error_of(root.path(), "files");
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("1 x dangling link (such as link)"));
    EXPECT_THAT(error.what(), HasSubstr("1 x directory without files (such as class)"));
}

TEST(FilesFormat, WhatIsNoDirectoryIsAUsageError) {
    const TempDir root;
    write_file(root / "file", "x");
    test::make_link("loop", root / "loop");
    for (const char* format : {"auto", "files"}) {
        for (const std::string& path : {root / "file", root / "missing", root / "file/below", root / "loop",
                                        root / std::string(5000, 'x'), std::string()}) {
            const Error error = error_of(path, format);
            EXPECT_EQ(error.kind(), ErrorKind::usage) << format << " " << path << ": " << error.what();
            EXPECT_THAT(error.what(), HasSubstr(path));
        }
    }
}

TEST(FilesFormat, AnUnknownFormatIsAUsageErrorThatListsTheKnown) {
    const TempDir root;
    const Error error = error_of(root.path(), "tarball");
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("'tarball'"));
    EXPECT_THAT(error.what(), HasSubstr("files"));
}

TEST(FilesFormat, AnUnreadableRootIsAnIoError) {
    const TempDir root;
    write_file(root / "data/c/f", "x");
    ASSERT_EQ(chmod(root.path().c_str(), 0755), 0);
    ASSERT_EQ(chmod((root / "data").c_str(), 0), 0);
    {
        const test::AsNobody nobody;
        EXPECT_EQ(error_of(root / "data", "auto").kind(), ErrorKind::io);
        EXPECT_EQ(error_of(root / "data/c", "files").kind(), ErrorKind::io);
    }
    ASSERT_EQ(chmod((root / "data").c_str(), 0755), 0);
}

TEST(FilesFormat, EveryFormatIsFoundByItsName) {
    const TempDir root;
    write_file(root / "c/f", "x");
    EXPECT_EQ(open_dataset(root.path(), "auto", {})->info().format, "files");
    for (const Format* format : all_formats()) EXPECT_FALSE(format->name().empty());
}

}  // namespace
}  // namespace feedline
