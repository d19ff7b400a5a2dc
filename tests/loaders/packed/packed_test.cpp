// Manifests and sidecars that nobody here wrote, with a checksum that is right.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"
#include "loaders/packed/manifest.h"
#include "loaders/packed/sidecar.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

// A manifest of one shard, with `from` as `to`, as if it had been written so.
std::string manifest_text(std::string_view from, std::string_view to) {
    PackedShard shard;
    shard.name = "a";
    shard.samples = 1;
    shard.bytes = 1919;
    const Manifest manifest{.plan = "0123",
                            .format = "tfrecord",
                            .name = "name",
                            .order = "shuffle",
                            .seed = 1717,
                            .labels = "auto",
                            .classes = {{"cats", 4242, 1}},
                            .shards = {shard}};
    std::string text = to_text(manifest);
    text.replace(text.rfind("crc32c\": \"") + 10, 8, 8, '0');
    text.replace(text.find(from), from.size(), to);
    const std::uint32_t checksum = crc32c(std::as_bytes(std::span(text)));
    return text.replace(text.rfind("crc32c\": \"") + 10, 8, fmt::format("{:08x}", checksum));
}

ErrorKind kind_of_error(const std::string& manifest) {
    const test::TempDir directory;
    test::write_file(directory / kManifestName, manifest);
    try {
        static_cast<void>(read_manifest(directory.path()));
    } catch (const Error& error) {
        return error.kind();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorKind::internal;
}

class NoNumber : public testing::TestWithParam<const char*> {};

TEST_P(NoNumber, IsAnErrorInAManifestAndInASidecar) {
    EXPECT_EQ(kind_of_error(manifest_text("1717", GetParam())), ErrorKind::corrupt);
    EXPECT_EQ(kind_of_error(manifest_text("4242", GetParam())), ErrorKind::corrupt);
    EXPECT_EQ(kind_of_error(manifest_text("1919", GetParam())), ErrorKind::corrupt);
    EXPECT_THROW(parse_line(fmt::format(R"({{"key":"a","path":"a","label":{},"parts":[]}})", GetParam())), Error);
    EXPECT_THROW(parse_line(fmt::format(R"({{"key":"a","path":"a","label":[1,{}],"parts":[]}})", GetParam())), Error);
}

INSTANTIATE_TEST_SUITE_P(Packed, NoNumber,
                         testing::Values("1.5", "1e300", "-1e300", "18446744073709551616", "true", "null", "{}"));

TEST(Sidecar, TheEndsOfWhatANumberHolds) {
    for (const std::int64_t label :
         {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
        SidecarSample sample{.key = "a", .path = "a", .label = label, .parts = {}};
        EXPECT_EQ(parse_line(to_line(sample)), sample);
        sample.label = std::vector{label, label};
        EXPECT_EQ(parse_line(to_line(sample)), sample);
    }
    EXPECT_THROW(parse_line(R"({"key":"a","path":"a","label":9223372036854775808,"parts":[]})"), Error);
}

TEST(Sidecar, ALineWithoutAnEndIsNotKept) {
    const test::TempDir directory;
    test::write_file(directory / "long", std::string(std::size_t{17} << 20U, 'x'));
    const auto none = [](const SidecarSample& /*sample*/, std::uint64_t /*offset*/) {};
    try {
        for_each_sample(directory / "long", none);
        FAIL() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
        EXPECT_THAT(error.message(), testing::HasSubstr("16 MiB"));
    }
}

// Looking through all names for each one would take a minute.
TEST(Manifest, HundredThousandsOfNamesAreReadAtOnce) {
    std::string names;
    for (int i = 0; i < 300'000; ++i) names += fmt::format("\"{}\": 0,\n", i);
    const test::TempDir directory;
    test::write_file(directory / kManifestName, manifest_text("\"plan\"", names + "\"plan\""));
    EXPECT_EQ(read_manifest(directory.path()).value().samples(), 1U);
}

}  // namespace
}  // namespace feedline
