#include "loaders/files/files_format.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Dataset> open_files(const std::string& path, unsigned threads = 2) {
    OpenOptions options;
    options.threads = threads;
    return open_dataset(path, "files", options);
}

std::vector<std::string> keys(const Dataset& dataset) {
    std::vector<std::string> all;
    for (SampleId id = 0; id < dataset.size(); ++id) all.push_back(dataset.key(id));
    return all;
}

std::string read_through_source(const Dataset& dataset, SampleId id) {
    std::string scratch;
    const Source source = dataset.source(static_cast<ShardId>(id), scratch);
    const Fd fd(openat(source.dir_fd, source.name, O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(fd) << source.name;
    std::string content(4096, '\0');
    const ssize_t bytes = read(fd.get(), content.data(), content.size());
    content.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    return content;
}

TEST(FilesFormat, SamplesAreSortedByteWiseAndEachIsItsFile) {
    const test::TempDir root;
    test::write_file(root / "b/x/deep", "deep");
    test::write_file(root / "b/z", "zz");
    test::write_file(root / "b/a", "a");
    test::write_file(root / "2/one", "1");
    test::write_file(root / "100/two", "two");
    test::write_file(root / "top", "at the root");
    const auto dataset = open_files(root.path());

    EXPECT_THAT(keys(*dataset), ElementsAre("top", "100/two", "2/one", "b/a", "b/z", "b/x/deep"));
    std::vector<std::string> contents;
    for (SampleId id = 0; id < dataset->size(); ++id) contents.push_back(read_through_source(*dataset, id));
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
    const test::TempDir root;
    test::write_file(root / "2/one", "1");
    test::write_file(root / "100/two", "2");
    test::write_file(root / "b/x/deep", "3");
    test::write_file(root / "top", "4");
    const auto dataset = open_files(root.path());

    ASSERT_EQ(dataset->info().classes.size(), 3U);
    EXPECT_EQ(dataset->info().classes[0].name, "100");
    EXPECT_EQ(dataset->info().classes[1].name, "2");
    EXPECT_EQ(dataset->info().classes[2].name, "b");
    EXPECT_EQ(dataset->info().classes[2].label, 2);
    EXPECT_EQ(dataset->info().classes[2].samples, 1U);
    EXPECT_EQ(dataset->label(0), std::nullopt);
    EXPECT_EQ(dataset->label(1), 0);
    EXPECT_EQ(dataset->label(3), 2);
}

TEST(FilesFormat, NothingToReadIsAUsageErrorThatSaysWhatWasFound) {
    const test::TempDir root;
    ASSERT_EQ(symlink("nowhere", (root / "link").c_str()), 0);
    try {
        open_files(root.path());
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.what(), HasSubstr("dangling link"));
    }
}

}  // namespace
}  // namespace feedline
