#include "packers/generate/generate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "core/error.h"
#include "tests/testutil/memory_directory.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;
using test::memory_directory;
using test::read_file;
using test::TempDir;

GenerateOptions small_options(const std::string& destination) {
    GenerateOptions options;
    options.destination = destination;
    options.samples = 50;
    options.sample_size_bytes = 3000;
    options.sample_stddev_bytes = 1500;
    options.classes = 7;
    options.seed = 42;
    return options;
}

// Relative path -> content.
std::map<std::string, std::string> tree(const std::string& root) {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
        if (!entry.is_directory()) files[fs::relative(entry.path(), root)] = read_file(entry.path());
    }
    return files;
}

std::uint64_t fnv1a(const std::map<std::string, std::string>& files) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    const auto add = [&](std::string_view text) {
        for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    };
    for (const auto& [name, content] : files) {
        add(name);
        add(content);
    }
    return hash;
}

// Names, sizes and bytes are a promise: whoever generates with the same options gets the same dataset, on any machine
// and with any later version.
TEST(Generate, Golden) {
    const TempDir dir(memory_directory());
    generate(small_options(dir / "d"), {}, Interrupt());
    EXPECT_EQ(fnv1a(tree(dir / "d")), 0x5875BD9EFEF1F8A2U);
}

TEST(Generate, ThreadsChangeNothing) {
    const TempDir dir(memory_directory());
    GenerateOptions options = small_options(dir / "d");
    options.samples = 300;
    options.threads = 1;
    generate(options, {}, Interrupt());
    const auto expected = tree(dir / "d");
    for (const unsigned threads : {1U, 2U, 3U, 5U, 8U}) {
        options.threads = threads;
        options.destination = dir / ("d" + std::to_string(threads));
        generate(options, {}, Interrupt());
        EXPECT_TRUE(tree(options.destination) == expected) << threads;
    }
}

TEST(Generate, FilesLargerThanAPieceDependOnTheSeedAlone) {
    const TempDir dir(memory_directory());
    GenerateOptions options = small_options(dir / "a");
    options.samples = 3;
    options.classes = 1;
    options.sample_size_bytes = 1'500'001;
    options.sample_stddev_bytes = 0;
    generate(options, {}, Interrupt());
    options.destination = dir / "b";
    options.threads = 3;
    generate(options, {}, Interrupt());
    const auto a = tree(dir / "a");
    EXPECT_TRUE(a == tree(dir / "b"));
    for (const auto& [name, content] : a) EXPECT_EQ(content.size(), 1'500'001U);
    options.destination = dir / "c";
    options.seed = 43;
    generate(options, {}, Interrupt());
    EXPECT_FALSE(a == tree(dir / "c"));
}

TEST(Generate, WritesClassFoldersWithFilesAndNothingElse) {
    const TempDir dir(memory_directory());
    for (const auto& [samples, classes] : std::map<std::uint64_t, std::uint64_t>{{1, 1}, {5, 5}, {23, 4}, {2100, 2}}) {
        GenerateOptions options = small_options(dir / std::to_string(samples));
        options.samples = samples;
        options.classes = classes;
        options.sample_size_bytes = 10;
        options.sample_stddev_bytes = 3;
        const GenerateResult result = generate(options, {}, Interrupt());
        EXPECT_EQ(result.files, samples);
        EXPECT_EQ(result.classes, classes);
        std::map<std::string, std::uint64_t> counts;
        std::uint64_t bytes = 0;
        for (const auto& [name, content] : tree(options.destination)) {
            const fs::path path(name);
            EXPECT_EQ(path.extension(), ".bin");
            EXPECT_EQ(path.filename().string().substr(0, 11), path.parent_path().string());
            counts[path.parent_path()] += 1;
            bytes += content.size();
        }
        EXPECT_EQ(result.bytes, bytes);
        EXPECT_EQ(counts.size(), classes);
        for (const auto& [name, count] : counts) {
            EXPECT_GE(count, samples / classes);
            EXPECT_LE(count, (samples + classes - 1) / classes);
        }
    }
}

TEST(Generate, NoTwoFilesAreAlike) {
    const TempDir dir(memory_directory());
    GenerateOptions options = small_options(dir / "d");
    options.sample_stddev_bytes = 0;
    generate(options, {}, Interrupt());
    std::map<std::string, int> contents;
    for (const auto& [name, content] : tree(dir / "d")) contents[content] += 1;
    EXPECT_EQ(contents.size(), 50U);
}

TEST(Generate, ProgressEndsAtTheWhole) {
    const TempDir dir(memory_directory());
    GenerateProgress last;
    const GenerateResult result = generate(
        small_options(dir / "d"),
        [&](const GenerateProgress& progress) {
            EXPECT_GE(progress.files, last.files);
            last = progress;
        },
        Interrupt());
    EXPECT_EQ(last.files, result.files);
    EXPECT_EQ(last.bytes, result.bytes);
}

TEST(Generate, AnInterruptRemovesWhatWasWritten) {
    const TempDir dir(memory_directory());
    Interrupt interrupt;
    GenerateOptions options = small_options(dir / "d");
    options.samples = 20'000;
    try {
        generate(
            options, [&](const GenerateProgress&) { interrupt.request(); }, interrupt);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    }
    EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(Generate, AProgressThatThrowsRemovesWhatWasWritten) {
    const TempDir dir(memory_directory());
    EXPECT_THROW(
        generate(
            small_options(dir / "d"), [](const GenerateProgress&) { throw std::runtime_error("stop"); }, Interrupt()),
        std::runtime_error);
    EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(Generate, AKilledRunLeavesNothingThatLooksFinishedAndTheNextOneClearsUp) {
    const TempDir dir(memory_directory());
    int pipe_fds[2];
    ASSERT_EQ(::pipe(pipe_fds), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        // Stops in its first report of progress, which comes before the dataset is published, and waits to be killed.
        generate(
            small_options(dir / "d"),
            [&](const GenerateProgress&) {
                if (::write(pipe_fds[1], "x", 1) == 1) ::pause();
            },
            Interrupt());
        ::_exit(1);
    }
    char byte = 0;
    ASSERT_EQ(::read(pipe_fds[0], &byte, 1), 1);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ::close(pipe_fds[0]);
    ::close(pipe_fds[1]);

    EXPECT_FALSE(fs::exists(dir / "d"));
    EXPECT_TRUE(fs::exists(dir / "d.incomplete"));
    generate(small_options(dir / "d"), {}, Interrupt());
    EXPECT_EQ(tree(dir / "d").size(), 50U);
    EXPECT_FALSE(fs::exists(dir / "d.incomplete"));
}

TEST(Generate, WhatContradictsIsRefusedAndTouchesNothing) {
    const TempDir dir(memory_directory());
    GenerateOptions no_samples = small_options(dir / "d");
    no_samples.samples = 0;
    GenerateOptions too_many_classes = small_options(dir / "d");
    too_many_classes.classes = 51;
    GenerateOptions no_size = small_options(dir / "d");
    no_size.sample_size_bytes = 0;
    GenerateOptions absurd = small_options(dir / "d");
    absurd.sample_stddev_bytes = 1'000'000;
    for (const GenerateOptions& options : {no_samples, too_many_classes, no_size, absurd}) {
        try {
            generate(options, {}, Interrupt());
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
        }
        EXPECT_TRUE(fs::is_empty(dir.path()));
    }
}

}  // namespace
}  // namespace feedline
