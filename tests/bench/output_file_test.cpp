#include "bench/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>

#include "bench/outputs.h"
#include "core/error.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path, std::string_view content) {
    OutputFile("--json", path).write(content);
}

// Why `path` is refused before the run, or "".
std::string refusal(const std::string& path) {
    try {
        const OutputFile file("--json", path);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_NE(std::string(error.what()).find("--json: "), std::string::npos) << error.what();
        return error.what();
    }
    return "";
}

std::size_t entries_in(const std::string& directory) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

TEST(OutputFile, IsReplacedAsAWhole) {
    const test::TempDir dir;
    const std::string path = dir / "result.json";
    write(path, "old");
    OutputFile file("--json", path);
    EXPECT_EQ(test::read_file(path), "old") << "nothing is touched before it is written";
    EXPECT_EQ(entries_in(dir.path()), 1U);
    file.write("new");
    EXPECT_EQ(test::read_file(path), "new");
    EXPECT_EQ(entries_in(dir.path()), 1U);
}

TEST(OutputFile, WhatCannotBeWrittenIsRefusedBeforeTheRun) {
    const test::TempDir dir;
    test::write_file(dir / "file", "x");
    EXPECT_NE(refusal(dir / "none/r.json"), "");
    EXPECT_NE(refusal(dir / "file/r.json"), "");
    // Root may write anywhere by its rights, and yet not here.
    EXPECT_NE(refusal("/proc/r.json"), "");
    EXPECT_NE(refusal("/proc/self/fdinfo/r.json"), "");
    fs::create_symlink("b", dir / "a");
    fs::create_symlink("a", dir / "b");
    EXPECT_NE(refusal(dir / "a"), "") << "links in a circle";
    EXPECT_EQ(refusal(dir / "r.json"), "");
    EXPECT_FALSE(fs::exists(dir / "r.json"));
}

TEST(OutputFile, WhatFailsAtTheEndNamesTheFile) {
    const test::TempDir dir;
    fs::create_directory(dir / "gone");
    OutputFile file("--json", dir / "gone/r.json");
    fs::remove(dir / "gone");
    try {
        file.write("x");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_NE(std::string(error.what()).find("gone/r.json"), std::string::npos) << error.what();
    }
}

TEST(OutputFile, ALinkStaysALinkAlsoWhereItLeadsToNothingYet) {
    const test::TempDir dir;
    fs::create_directory(dir / "store");
    fs::create_symlink("store/r.json", dir / "near");
    fs::create_symlink(dir / "near", dir / "far");
    EXPECT_EQ(written_file(dir / "far"), dir / "store/r.json");
    for (const char* content : {"first", "again"}) {
        write(dir / "far", content);
        EXPECT_TRUE(fs::is_symlink(dir / "far"));
        EXPECT_TRUE(fs::is_symlink(dir / "near"));
        EXPECT_EQ(test::read_file(dir / "store/r.json"), content);
    }
    fs::create_symlink("none/r.json", dir / "lost");
    EXPECT_NE(refusal(dir / "lost"), "");
    EXPECT_TRUE(fs::is_symlink(dir / "lost"));
}

TEST(OutputFile, AFileThatIsMountedIsWrittenToAsItStands) {
    const test::TempDir dir;
    test::write_file(dir / "backing", "what was there");
    fs::create_directory(dir / "place");
    const std::string place = dir / "place";
    const std::string path = dir / "place/r.json";
    if (::mount("tmpfs", place.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "nothing can be mounted here";
    test::write_file(path, "");
    EXPECT_EQ(::mount((dir / "backing").c_str(), path.c_str(), nullptr, MS_BIND, nullptr), 0);
    for (const unsigned long flags : {0UL, 0UL | MS_RDONLY}) {
        EXPECT_EQ(::mount(nullptr, place.c_str(), nullptr, MS_REMOUNT | flags, nullptr), 0);
        for (const char* content : {"a longer one than there was", "a shorter one"}) {
            write(path, content);
            EXPECT_EQ(test::read_file(dir / "backing"), content);
            EXPECT_EQ(entries_in(place), 1U) << "nothing is left beside it";
        }
        const std::array outputs{Output{"--json", path, true}};
        EXPECT_NO_THROW(check_outputs(outputs, {}));
    }
    ::umount2(path.c_str(), MNT_DETACH);
    ::umount2(place.c_str(), MNT_DETACH);
}

TEST(OutputFile, ADeviceIsWrittenToAndNotReplaced) {
    struct stat before {};
    struct stat after {};
    ASSERT_EQ(::stat("/dev/null", &before), 0);
    write("/dev/null", "x");
    ASSERT_EQ(::stat("/dev/null", &after), 0);
    EXPECT_TRUE(S_ISCHR(after.st_mode));
    EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST(OutputFile, AReaderOfAPipeWaitsForTheResult) {
    const test::TempDir dir;
    ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
    EXPECT_NE(refusal(dir / "pipe").find("nobody reads this pipe"), std::string::npos);
    const Fd reader(::open((dir / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(reader);
    std::array<char, 16> buffer{};
    {
        OutputFile file("--json", dir / "pipe");
        EXPECT_EQ(::read(reader.get(), buffer.data(), buffer.size()), -1) << "it must not see an end before the result";
        EXPECT_EQ(errno, EAGAIN);
        file.write("result");
        EXPECT_EQ(::read(reader.get(), buffer.data(), buffer.size()), 6);
    }
    EXPECT_EQ(::read(reader.get(), buffer.data(), buffer.size()), 0) << "and then its end";
}

}  // namespace
}  // namespace feedline
