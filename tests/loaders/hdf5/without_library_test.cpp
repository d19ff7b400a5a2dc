// What a build without libhdf5 says of an HDF5 file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "loaders/hdf5/hdf5_format.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

TEST(Hdf5WithoutLibrary, IsRecognisedAndRefusedWithWhatIsMissing) {
    const test::TempDir directory;
    const std::string path = directory / "set.h5";
    const std::string signature = "\x89HDF\r\n\x1a\n";
    for (const std::size_t userblock : {0U, 512U, 1024U}) {
        test::write_file(path, std::string(userblock, 'u') + signature + std::string(100, '\0'));
        EXPECT_EQ(Hdf5Format().probe(path), Confidence::yes);
        try {
            Hdf5Format().open(path, {});
            FAIL() << "nothing was thrown";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::unsupported);
            EXPECT_THAT(error.what(), testing::HasSubstr("libhdf5-dev"));
        }
    }
    test::write_file(path, std::string(256, 'u') + signature);
    EXPECT_EQ(Hdf5Format().probe(path), Confidence::no);
}

}  // namespace
}  // namespace feedline
