#include "loaders/files/scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/descriptors.h"
#include "core/error.h"
#include "core/fd.h"
#include "loaders/files/directory_handles.h"
#include "loaders/files/index.h"
#include "tests/loaders/files/tree_lab.h"
#include "tests/testutil/memory_directory.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::TempDir;
using test::write_file;
using ::testing::ElementsAre;

Fd open_root(const std::string& path) {
    return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Everything that an index says, as text.
std::vector<std::string> listing(ScannedTree& tree) {
    const FileIndex index(tree);
    std::vector<std::string> lines;
    for (FileIndex::FileId file = 0; file < index.files(); ++file) {
        const FileIndex::DirectoryId directory = index.directory_of(file);
        lines.push_back(index.relative_path(directory, FileIndex::kRoot, index.name(file)) + " " +
                        std::to_string(index.length_bytes(file)));
    }
    for (const Oddity& oddity : tree.oddities.list()) {
        lines.push_back(oddity.kind + " " + std::to_string(oddity.count) + " " + oddity.example);
    }
    return lines;
}

std::vector<std::string> scan(const std::string& path, const ScanOptions& options) {
    const Fd root = open_root(path);
    ScannedTree tree = scan_tree(root.get(), path, options);
    return listing(tree);
}

void fill_with_everything(const TempDir& root) {
    for (int i = 0; i < 40; ++i) {
        const std::string directory = root / ("class" + std::to_string(i));
        for (int j = 0; j < 25; ++j) {
            write_file(directory + "/" + std::to_string(j * 37 % 25), std::string(static_cast<std::size_t>(j), 'x'));
        }
        write_file(directory + "/sub/f", "x");
        write_file(directory + "/.hidden/f", "x");
        write_file(directory + "/.hidden_file", "x");
        test::make_link("../class" + std::to_string((i + 1) % 40), directory + "/next");
        test::make_link("nowhere", directory + "/dangling");
        test::make_link("0", directory + "/link");
    }
    test::make_link("class7", root / "alias");
}

TEST(Scan, IsTheSameForEveryNumberOfThreads) {
    const TempDir root;
    fill_with_everything(root);
    ScanOptions options;
    const std::vector<std::string> one = scan(root.path(), options);
    // 26 files and a link in each of 40 classes and one alias; kinds of oddities.
    EXPECT_EQ(one.size(), 41U * 27U + 5U);
    for (const unsigned threads : {2U, 3U, 8U}) {
        options.threads = threads;
        EXPECT_EQ(scan(root.path(), options), one) << threads << " threads";
    }
}

TEST(Scan, IsTheSameWhereReaddirTellsNoTypes) {
    const TempDir root;
    fill_with_everything(root);
    ScanOptions options;
    options.threads = 2;
    const std::vector<std::string> trusting = scan(root.path(), options);
    options.distrust_types = true;
    EXPECT_EQ(scan(root.path(), options), trusting);
}

TEST(Scan, ALargeDirectoryIsSplitAmongThreadsAndSortedAllTheSame) {
    const TempDir root(test::memory_directory());
    constexpr std::size_t kFiles = 13'000;
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < kFiles; ++i) {
        const std::string name = "f" + std::to_string(i * 7919 % kFiles);
        const Fd file(::open((root / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        ASSERT_EQ(write(file.get(), "0123456789", i % 10 + 1), static_cast<ssize_t>(i % 10 + 1));
        expected.push_back(name + " " + std::to_string(i % 10 + 1));
    }
    std::sort(expected.begin(), expected.end(), [](const std::string& a, const std::string& b) {
        return a.substr(0, a.find(' ')) < b.substr(0, b.find(' '));
    });
    for (const unsigned threads : {1U, 4U}) {
        ScanOptions options;
        options.threads = threads;
        EXPECT_EQ(scan(root.path(), options), expected) << threads << " threads";
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their allocators are not the one asked here
std::size_t heap_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

TEST(Scan, AnIndexTakesFewBytesAFile) {
    const TempDir root;
    constexpr std::size_t kClasses = 20;
    constexpr std::size_t kFiles = 1000;
    for (std::size_t c = 0; c < kClasses; ++c) {
        const std::string name = "n0144" + std::to_string(1000 + c);
        test::make_directory(root / name);
        for (std::size_t i = 0; i < kFiles; ++i) {
            const std::string path = fmt::format("{}/{}/{}_{}.JPEG", root.path(), name, name, 10'000 + i);
            ASSERT_TRUE(Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)));
        }
    }
    // Once before, for what is allocated once a process.
    test::open_files(root.path());
    const std::size_t before = heap_bytes();
    const auto dataset = test::open_files(root.path());
    ASSERT_EQ(dataset->size(), kClasses * kFiles);
    EXPECT_LE((heap_bytes() - before) / dataset->size(), 40U) << "names of 21 bytes, and 8 for offset and length";
}
#endif

// One thread, one directory: the progress call comes after so many files, and then the rest is removed.
struct Remover {
    std::uint64_t seen = 0;
    std::vector<std::string> names;
};

TEST(Scan, FilesThatVanishMeanwhileAreCounted) {
    const TempDir root;
    Remover remover;
    for (int i = 0; i < 1000; ++i) {
        remover.names.push_back(root / std::to_string(i));
        write_file(remover.names.back(), "x");
    }
    ScanOptions options;
    options.progress_context = &remover;
    options.progress = [](std::uint64_t files, void* context) {
        auto& r = *static_cast<Remover*>(context);
        if (r.seen != 0) return;
        r.seen = files;
        for (const std::string& name : r.names) unlink(name.c_str());
    };
    const Fd fd = open_root(root.path());
    ScannedTree tree = scan_tree(fd.get(), root.path(), options);
    const std::vector<Oddity> oddities = tree.oddities.list();
    const FileIndex index(tree);
    ASSERT_GT(remover.seen, 0U);
    ASSERT_LT(remover.seen, 1000U);
    EXPECT_EQ(index.files(), remover.seen);
    ASSERT_EQ(oddities.size(), 1U);
    EXPECT_EQ(oddities[0].kind, "vanished while indexing");
    EXPECT_EQ(oddities[0].count, 1000 - remover.seen);
}

TEST(Scan, DirectoriesThatVanishMeanwhileAreCounted) {
    const TempDir root;
    // Files of the root are measured while its directory waits.
    write_file(root / "f", "x");
    test::make_directory(root / "c");
    std::string gone = root / "c";
    ScanOptions options;
    options.progress_context = &gone;
    options.progress = [](std::uint64_t, void* context) { rmdir(static_cast<std::string*>(context)->c_str()); };
    EXPECT_THAT(scan(root.path(), options), ElementsAre("f 1", "vanished while indexing 1 c"));
}

TEST(Scan, WhatProgressThrowsEndsTheScan) {
    const TempDir root;
    fill_with_everything(root);
    ScanOptions options;
    options.threads = 4;
    options.progress = [](std::uint64_t, void*) { throw std::runtime_error("enough"); };
    EXPECT_THROW(scan(root.path(), options), std::runtime_error);
}

TEST(Scan, RunningOutOfDescriptorsIsAnErrorAndNotASmallerDataset) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer's own check of an object's type needs a free descriptor";
#endif
    const TempDir root;
    write_file(root / "c/f", "x");
    const Fd fd = open_root(root.path());
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{static_cast<rlim_t>(fd.get()) + 1, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_THROW(scan_tree(fd.get(), root.path(), {}), Error);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(DirectoryHandles, FilesAreReachedWithEveryBudget) {
    const TempDir root;
    for (int i = 0; i < 12; ++i) {
        for (int j = 0; j <= i; ++j) {
            write_file(root / (std::to_string(i) + "/s/" + std::to_string(j)),
                       std::to_string(i) + "/" + std::to_string(j));
        }
    }
    for (const std::size_t budget : {0U, 1U, 5U, 12U, 100U}) {
        const Fd fd = open_root(root.path());
        ScannedTree tree = scan_tree(fd.get(), root.path(), {});
        const FileIndex index(tree);
        const DirectoryHandles handles(index, open_root(root.path()), root.path(), budget);
        EXPECT_EQ(handles.open(), 1 + std::min<std::size_t>(budget, 12));
        std::size_t direct = 0;
        for (FileIndex::FileId file = 0; file < index.files(); ++file) {
            const FileIndex::DirectoryId directory = index.directory_of(file);
            const DirectoryHandles::Place place = handles.nearest(directory);
            if (place.directory == directory) ++direct;
            const std::string name = index.relative_path(directory, place.directory, index.name(file));
            const Fd opened(openat(place.dir_fd, name.c_str(), O_RDONLY | O_CLOEXEC));
            ASSERT_TRUE(opened) << name;
            std::string text(8, '\0');
            text.resize(static_cast<std::size_t>(read(opened.get(), text.data(), text.size())));
            const std::string key = index.relative_path(directory, FileIndex::kRoot, index.name(file));
            EXPECT_EQ(text.substr(0, text.find('/')) + "/s" + text.substr(text.find('/')), key);
        }
        // The largest directories, of 12, 11, ... files, come first.
        if (budget == 5) {
            EXPECT_EQ(direct, 12U + 11U + 10U + 9U + 8U);
        }
    }
}

TEST(DirectoryHandles, TheBudgetLeavesHalfOfWhatIsFree) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{64, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    EXPECT_LT(descriptor_budget(), 32U);
    EXPECT_GT(descriptor_budget(), 10U);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_EQ(descriptor_budget(), 0U);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace feedline
