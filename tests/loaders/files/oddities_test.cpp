// What a tree may hold besides readable regular files, and what becomes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "core/fd.h"
#include "tests/loaders/files/tree_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::keys;
using test::make_directory;
using test::make_link;
using test::oddities;
using test::open_files;
using test::TempDir;
using test::write_file;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FilesOddities, EmptyFilesAreSamplesAndAreCounted) {
    const TempDir root;
    write_file(root / "c/b", "");
    write_file(root / "c/a", "");
    write_file(root / "c/z", "x");
    const auto dataset = open_files(root.path());
    EXPECT_THAT(keys(*dataset), ElementsAre("c/a", "c/b", "c/z"));
    EXPECT_EQ(test::length_bytes(*dataset, 0), 0U);
    EXPECT_THAT(oddities(*dataset), ElementsAre("2 empty file: c/a"));
}

TEST(FilesOddities, ShardsThatAreTakenForSamplesAreSaid) {
    const TempDir root;
    write_file(root / "a/train-000000.tar", "x");
    write_file(root / "b/train-000001.tar", "x");
    write_file(root / "b/photo.jpg", "x");
    EXPECT_THAT(
        oddities(*open_files(root.path())),
        ElementsAre("2 file that is named like a shard of many samples and is taken for one: a/train-000000.tar"));
}

TEST(FilesOddities, EmptyClassDirectoriesTakeNoLabel) {
    const TempDir root;
    make_directory(root / "a");
    make_directory(root / "b");
    make_directory(root / "b/nothing");
    write_file(root / "c/f", "x");
    const auto dataset = open_files(root.path());
    ASSERT_EQ(dataset->info().classes.size(), 1U);
    EXPECT_EQ(dataset->info().classes[0].name, "c");
    EXPECT_EQ(dataset->label(0), 0);
    EXPECT_THAT(oddities(*dataset), ElementsAre("2 empty class directory: a"));
}

TEST(FilesOddities, HiddenDirectoriesAreNoClassUnlessAskedFor) {
    const TempDir root;
    write_file(root / ".ipynb_checkpoints/x", "x");
    write_file(root / "c/.ipynb_checkpoints/x", "x");
    write_file(root / "c/.DS_Store", "x");
    write_file(root / "c/..f", "x");
    write_file(root / "c/f", "x");
    const auto dataset = open_files(root.path());
    EXPECT_THAT(keys(*dataset), ElementsAre("c/f"));
    EXPECT_THAT(oddities(*dataset), ElementsAre("2 hidden directory: .ipynb_checkpoints", "2 hidden file: c/..f"));

    const auto everything = open_files(root.path(), 2, true);
    EXPECT_THAT(keys(*everything),
                ElementsAre(".ipynb_checkpoints/x", "c/..f", "c/.DS_Store", "c/f", "c/.ipynb_checkpoints/x"));
    EXPECT_EQ(everything->info().classes[0].name, ".ipynb_checkpoints");
}

TEST(FilesOddities, LinksToFilesAreSamplesOfTheTargetsLength) {
    const TempDir root;
    write_file(root / "elsewhere/target", "twelve bytes");
    make_directory(root / "data");
    make_directory(root / "data/c");
    make_link("../../elsewhere/target", root / "data/c/link");
    make_link("link", root / "data/c/second");
    const auto dataset = open_files(root / "data");
    EXPECT_THAT(keys(*dataset), ElementsAre("c/link", "c/second"));
    EXPECT_EQ(test::length_bytes(*dataset, 1), 12U);
    EXPECT_EQ(test::content(*dataset, 1), "twelve bytes");
    EXPECT_THAT(oddities(*dataset), IsEmpty());
}

TEST(FilesOddities, LinksThatLeadNowhereAreCounted) {
    const TempDir root;
    write_file(root / "c/f", "x");
    make_link("nowhere", root / "c/dangling");
    make_link("f/below", root / "c/through_a_file");
    make_link("itself", root / "c/itself");
    make_link("there", root / "c/here");
    make_link("here", root / "c/there");
    make_link(std::string(300, 'n'), root / "c/too_long");
    const auto dataset = open_files(root.path());
    EXPECT_THAT(keys(*dataset), ElementsAre("c/f"));
    EXPECT_THAT(oddities(*dataset), ElementsAre("3 dangling link: c/dangling", "3 link loop: c/here"));
}

TEST(FilesOddities, ClassesMayBeLinksToDirectories) {
    const TempDir root;
    write_file(root / "full/n01/a", "1");
    write_file(root / "full/n02/x/b", "2");
    make_directory(root / "subset");
    make_link("../full/n01", root / "subset/n01");
    make_link("../full/n02", root / "subset/n02");
    make_link("../full/n02", root / "subset/n03");
    make_link("subset", root / "way_in");
    const auto dataset = open_files(root / "way_in");
    EXPECT_THAT(keys(*dataset), ElementsAre("n01/a", "n02/x/b", "n03/x/b"));
    EXPECT_EQ(dataset->info().classes.size(), 3U);
    EXPECT_EQ(test::content(*dataset, 2), "2");
    EXPECT_THAT(oddities(*dataset), IsEmpty());
}

TEST(FilesOddities, LinksBelowTheClassesAreFollowedOnceForEachDirectory) {
    const TempDir root;
    write_file(root / "full/n01/a", "1");
    make_directory(root / "data");
    make_directory(root / "data/train");
    make_link("../../full/n01", root / "data/train/m");
    make_link("../../full/n01", root / "data/train/k");
    make_link("../../full/n01", root / "data/train/z");
    const auto dataset = open_files(root / "data");
    EXPECT_THAT(keys(*dataset), ElementsAre("train/k/a"));
    EXPECT_THAT(oddities(*dataset), ElementsAre("2 directory reached twice: train/m"));
}

TEST(FilesOddities, LoopsOfDirectoriesEnd) {
    const TempDir root;
    write_file(root / "data/a/f", "x");
    write_file(root / "data/b/deep/f", "x");
    make_link(".", root / "data/self");
    make_link("..", root / "data/a/up");
    make_link("../b", root / "data/a/other");
    make_link("../../a", root / "data/b/deep/other");
    make_link(".", root / "data/b/deep/self");
    const auto dataset = open_files(root / "data");
    EXPECT_THAT(keys(*dataset), ElementsAre("a/f", "b/deep/f"));
    EXPECT_THAT(oddities(*dataset), ElementsAre("2 directory reached twice: a/other", "3 link loop: a/up"));
}

TEST(FilesOddities, ALinkAboveTheRootDoesNotIndexTheRootAgain) {
    const TempDir root;
    write_file(root / "data/a/f", "x");
    write_file(root / "beside/g", "x");
    make_link("..", root / "data/up");
    const auto dataset = open_files(root / "data");
    EXPECT_THAT(keys(*dataset), ElementsAre("a/f", "up/beside/g"));
    EXPECT_THAT(oddities(*dataset), ElementsAre("1 directory reached twice: up/data"));
}

TEST(FilesOddities, AMeshOfLinksCostsNoMoreThanItsDirectories) {
    const TempDir root;
    constexpr int kDirectories = 24;  // 24! paths
    make_directory(root / "c");
    for (int i = 0; i < kDirectories; ++i) {
        const std::string directory = root / ("c/" + std::to_string(i));
        write_file(directory + "/f", "x");
        for (int j = 0; j < kDirectories; ++j)
            make_link("../" + std::to_string(j), directory + "/to" + std::to_string(j));
    }
    EXPECT_EQ(open_files(root.path())->size(), static_cast<std::uint64_t>(kDirectories));
}

TEST(FilesOddities, SpecialFilesAreCountedAndNeverOpened) {
    const TempDir root;
    write_file(root / "c/f", "x");
    // Opening a pipe that nobody writes to would block.
    ASSERT_EQ(mkfifo((root / "c/pipe").c_str(), 0644), 0);
    make_link("pipe", root / "c/link_to_pipe");
    make_link("/dev/null", root / "c/link_to_device");
    const Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = root / "c/socket";
    ASSERT_LT(path.size(), sizeof address.sun_path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const auto dataset = open_files(root.path());
    EXPECT_THAT(keys(*dataset), ElementsAre("c/f"));
    EXPECT_THAT(oddities(*dataset),
                ElementsAre("1 device file: c/link_to_device", "2 named pipe: c/link_to_pipe", "1 socket: c/socket"));
}

TEST(FilesOddities, DirectoriesThatMayNotBeOpenedAreCounted) {
    const TempDir root;
    ASSERT_EQ(chmod(root.path().c_str(), 0755), 0);
    write_file(root / "a/f", "x");
    write_file(root / "b/locked/f", "x");
    write_file(root / "b/no_search/f", "x");
    write_file(root / "locked/f", "x");
    write_file(root / "b/secret", "no right to read it");
    ASSERT_EQ(chmod((root / "b/locked").c_str(), 0), 0);
    ASSERT_EQ(chmod((root / "locked").c_str(), 0), 0);
    ASSERT_EQ(chmod((root / "b/no_search").c_str(), 0444), 0);
    ASSERT_EQ(chmod((root / "b/secret").c_str(), 0), 0);
    make_link("no_search/f", root / "b/link");
    {
        const test::AsNobody nobody;
        const auto dataset = open_files(root.path());
        // Whether a file can be read is found out by reading it.
        EXPECT_THAT(keys(*dataset), ElementsAre("a/f", "b/secret"));
        EXPECT_THAT(oddities(*dataset),
                    ElementsAre("1 file in a directory without search permission: b/no_search/f",
                                "1 link to an unreadable place: b/link", "2 unreadable directory: b/locked"));
    }
    for (const char* name : {"b/locked", "locked", "b/no_search"}) ASSERT_EQ(chmod((root / name).c_str(), 0755), 0);
}

TEST(FilesOddities, GitLfsPointersInsteadOfDataAreSaid) {
    const TempDir root;
    const std::string pointer =
        "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') + "\nsize 12345\n";
    write_file(root / "c/p1", pointer);
    write_file(root / "c/p2", pointer);
    write_file(root / "c/text_of_such_a_length", std::string(pointer.size(), 'v'));
    write_file(root / "c/long", pointer + std::string(5000, ' '));
    const auto dataset = open_files(root.path());
    EXPECT_EQ(dataset->size(), 4U);
    EXPECT_THAT(oddities(*dataset), ElementsAre("2 Git LFS pointer instead of data: c/p1"));
}

}  // namespace
}  // namespace feedline
