#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "packers/generate/generate.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

TEST(NoJpeg, IsSaidBeforeAnythingIsTouched) {
    const test::TempDir dir;
    GenerateOptions options;
    options.destination = dir / "d";
    options.samples = 10;
    options.classes = 2;
    options.content = Content::jpeg;
    try {
        generate(options, {}, Interrupt());
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        EXPECT_NE(std::string(error.what()).find("libturbojpeg0-dev"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace feedline
