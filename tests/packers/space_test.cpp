#include "packers/generate/space.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "packers/generate/generate.h"
#include "packers/generate/writer.h"
#include "packers/output/staging_directory.h"
#include "tests/packers/small_filesystem.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;
using test::SmallFilesystem;
using test::TempDir;

GenerateOptions options_for(const std::string& destination, std::uint64_t samples, std::uint64_t size) {
    GenerateOptions options;
    options.destination = destination;
    options.samples = samples;
    options.sample_size_bytes = size;
    options.classes = 2;
    options.threads = 2;
    return options;
}

TEST(Space, MoreThanTheDiskHoldsIsRefusedBeforeAnythingIsWritten) {
    const TempDir dir;
    struct statvfs info {};
    ASSERT_EQ(::statvfs(dir.path().c_str(), &info), 0);
    const std::uint64_t free_bytes = info.f_bavail * info.f_frsize;
    // By size, and by number alone (which must not take the time to add up billions of sizes).
    for (const GenerateOptions& options : {options_for(dir / "d", 1000, free_bytes / 500 + 4096),
                                           options_for(dir / "d", std::uint64_t{1} << 60U, 100)}) {
        try {
            generate(options, {}, Interrupt());
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::out_of_space) << error.what();
            EXPECT_NE(std::string(error.what()).find("are free"), std::string::npos) << error.what();
        }
        EXPECT_TRUE(fs::is_empty(dir.path()));
    }
}

TEST(Space, TooFewInodesAreRefusedBeforeAnythingIsWritten) {
    const SmallFilesystem small;
    if (!small.mounted()) GTEST_SKIP() << "mounting a tmpfs was refused: " << std::strerror(errno);
    try {
        generate(options_for(small.path() + "/d", 300, 100), {}, Interrupt());
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::out_of_space) << error.what();
        EXPECT_NE(std::string(error.what()).find("inodes"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(fs::is_empty(small.path()));
}

TEST(Space, AFilesystemThatFillsUpMeanwhileIsNamedAndCleaned) {
    const SmallFilesystem small;
    if (!small.mounted()) GTEST_SKIP() << "mounting a tmpfs was refused: " << std::strerror(errno);
    // The writer itself, without the check that comes before it.
    const GenerateOptions options = options_for(small.path() + "/d", 80, 100'000);
    const DatasetLayout layout(options.samples, options.classes, ".bin");
    const SizeModel sizes(options.distribution, options.sample_size_bytes, 0, 0, {});
    try {
        const Interrupt interrupt;
        const StagingDirectory staging(options.destination);
        DatasetWriter writer(options, layout, sizes, staging.directory_fd(), staging.path(), interrupt);
        writer.run({});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::out_of_space) << error.what();
        EXPECT_EQ(error.error_number(), ENOSPC);
        EXPECT_NE(error.path().find("class_0000"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(fs::is_empty(small.path()));
}

}  // namespace
}  // namespace feedline
