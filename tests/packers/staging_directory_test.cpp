#include "packers/output/staging_directory.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "tests/packers/small_filesystem.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using test::write_file;

std::string refusal(const std::string& destination) {
    try {
        const StagingDirectory staging(destination);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
        return error.what();
    }
    return "";
}

TEST(StagingDirectory, NothingAppearsBeforePublishing) {
    const TempDir dir;
    StagingDirectory staging(dir / "d");
    write_file(staging.path() + "/class/file", "x");
    EXPECT_FALSE(fs::exists(dir / "d"));
    staging.publish();
    EXPECT_EQ(test::read_file(dir / "d/class/file"), "x");
    EXPECT_FALSE(fs::exists(dir / "d.incomplete"));
    EXPECT_EQ(std::distance(fs::directory_iterator(dir / "d"), fs::directory_iterator()), 1);
}

TEST(StagingDirectory, WhatIsNotPublishedIsRemoved) {
    const TempDir dir;
    {
        const StagingDirectory staging(dir / "d");
        write_file(staging.path() + "/class/file", "x");
    }
    EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(StagingDirectory, AnEmptyDestinationIsReplacedAndTrailingSlashesAreFine) {
    const TempDir dir;
    fs::create_directory(dir / "d");
    StagingDirectory staging(dir / "d//");
    write_file(staging.path() + "/class/file", "x");
    staging.publish();
    EXPECT_EQ(test::read_file(dir / "d/class/file"), "x");
}

TEST(StagingDirectory, ADestinationInUseIsRefusedAndLeftAlone) {
    const TempDir dir;
    write_file(dir / "full/file", "x");
    write_file(dir / "file", "x");
    fs::create_symlink(dir / "nowhere", dir / "link");
    EXPECT_NE(refusal(dir / "full").find("not empty"), std::string::npos);
    EXPECT_NE(refusal(dir / "file").find("not a directory"), std::string::npos);
    EXPECT_NE(refusal(dir / "link").find("symbolic link"), std::string::npos);
    EXPECT_NE(refusal(dir / "absent/d").find("mkdir -p"), std::string::npos);
    EXPECT_NE(refusal(dir / "file/d"), "");
    EXPECT_NE(refusal(dir / "."), "");
    EXPECT_NE(refusal(""), "");
    EXPECT_NE(refusal("/"), "");
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 3);
}

TEST(StagingDirectory, AMountPointIsRefused) {
    const test::SmallFilesystem small;
    if (!small.mounted()) GTEST_SKIP() << "mounting a tmpfs was refused: " << std::strerror(errno);
    EXPECT_NE(refusal(small.path()).find("mount point"), std::string::npos);
}

TEST(StagingDirectory, ALeftoverOfAKilledRunIsCleared) {
    const TempDir dir;
    {
        const StagingDirectory staging(dir / "d");
        write_file(staging.path() + "/class/old", "x");
        fs::copy(staging.path(), dir / "kept", fs::copy_options::recursive);
    }
    fs::rename(dir / "kept", dir / "d.incomplete");
    StagingDirectory staging(dir / "d");
    write_file(staging.path() + "/class/new", "y");
    staging.publish();
    EXPECT_FALSE(fs::exists(dir / "d/class/old"));
    EXPECT_EQ(test::read_file(dir / "d/class/new"), "y");
}

TEST(StagingDirectory, SomebodyElsesDirectoryIsNotTouched) {
    const TempDir dir;
    write_file(dir / "d.incomplete/precious", "x");
    EXPECT_NE(refusal(dir / "d").find("in the way"), std::string::npos);
    EXPECT_EQ(test::read_file(dir / "d.incomplete/precious"), "x");
    write_file(dir / "e.incomplete", "x");
    fs::create_symlink("nowhere", dir / "f.incomplete");
    for (const char* name : {"e", "f"}) EXPECT_NE(refusal(dir / name).find("in the way"), std::string::npos);
    EXPECT_EQ(test::read_file(dir / "e.incomplete"), "x");
}

TEST(StagingDirectory, TwoRunsDoNotShareADestination) {
    const TempDir dir;
    StagingDirectory first(dir / "d");
    write_file(first.path() + "/class/file", "x");
    EXPECT_NE(refusal(dir / "d").find("another run"), std::string::npos);
    first.publish();
    EXPECT_EQ(test::read_file(dir / "d/class/file"), "x");
}

TEST(StagingDirectory, WhatAppearsMeanwhileIsNotOverwritten) {
    const TempDir dir;
    StagingDirectory staging(dir / "d");
    write_file(dir / "d/other", "x");
    try {
        staging.publish();
        FAIL() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::changed) << "not usage: work was done";
    }
    EXPECT_EQ(test::read_file(dir / "d/other"), "x");
}

}  // namespace
}  // namespace feedline
