// What samples are called, and what says so.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/error.h"
#include "loaders/packed/escape.h"
#include "loaders/packed/manifest.h"
#include "loaders/packed/sidecar.h"
#include "packers/pack/unique_stems.h"
#include "packers/webdataset/sample_key.h"
#include "packers/webdataset/tar_writer.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

// Few letters, so that paths resemble each other.
std::string random_path(std::mt19937& random) {
    static constexpr std::string_view kLetters = "a.%_ /\xff";
    std::string path;
    const std::size_t length = 1 + random() % 7;
    for (std::size_t i = 0; i < length; ++i) path += kLetters[random() % kLetters.size()];
    return path;
}

TEST(SampleKey, DiffersWherePathsDo) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        std::set<std::string> paths;
        UniqueStems stems;
        for (int i = 0; i < 60; ++i) paths.insert(random_path(random));
        for (const std::string& path : paths) stems.add(path);
        stems.close();
        std::set<std::string> keys;
        for (const std::string& path : paths) {
            const std::string key = webdataset::sample_key(path, stems.unique(path));
            EXPECT_TRUE(keys.insert(key).second) << path << " -> " << key;
            EXPECT_EQ(key.find_first_of(". \xff"), std::string::npos) << key;
        }
    }
}

TEST(SampleKey, IsThePathWithoutItsSuffixWhereNothingElseIs) {
    EXPECT_EQ(webdataset::sample_key("n01/n01_7.JPEG", true), "n01/n01_7");
    EXPECT_EQ(webdataset::sample_key("n01/a.b.jpg", true), "n01/a%2Eb");
    EXPECT_EQ(webdataset::sample_key("x.jpg", false), "x%2Ejpg");
    EXPECT_EQ(webdataset::part_extension("JPEG"), "jpeg");
    EXPECT_EQ(webdataset::part_extension(""), "bin");
    EXPECT_EQ(webdataset::part_extension("cls"), "bin");
}

TEST(Escape, ComesBackWhateverTheBytes) {
    std::mt19937 random(2);
    for (int i = 0; i < 2000; ++i) {
        std::string bytes;
        for (std::size_t k = random() % 9; k > 0; --k) bytes += static_cast<char>(random());
        EXPECT_EQ(unescaped(escaped(bytes)), bytes);
    }
    for (const char* broken : {"%", "%4", "a%zz", "%G0"}) EXPECT_THROW((void)unescaped(broken), Error) << broken;
}

TEST(Sidecar, ALineComesBackWhateverIsInIt) {
    const std::vector<Label> labels = {Label(), Label(std::int64_t{-3}), Label(std::vector<std::int64_t>{1, 2}),
                                       Label(std::string("caf\xc3\xa9 \xff\n"))};
    for (const Label& label : labels) {
        const SidecarSample sample{"k\"ey", "p\xff/%41", label, {{"jpg", 12, 0xdeadbeef}, {"", 0, 0}}};
        const std::string line = to_line(sample);
        EXPECT_EQ(line.find('\n'), line.size() - 1);
        EXPECT_EQ(parse_line(line), sample);
    }
}

TEST(Sidecar, SaysWhereALineIsNone) {
    const TempDir dir;
    const std::string good = to_line({"a", "a", {}, {{"jpg", 1, 1}}});
    write_file(dir / "s", good + "{\"key\":1}\n");
    try {
        for_each_sample(dir / "s", [](const SidecarSample& /*sample*/, std::uint64_t /*offset*/) {});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
        EXPECT_EQ(error.offset_bytes(), good.size());
    }
}

TEST(Manifest, ComesBackAndNoticesWhatIsNotAsItWas) {
    const TempDir dir;
    const Manifest manifest{.plan = "0123",
                            .format = "tfrecord",
                            .name = "s\xff",
                            .order = "shuffle",
                            .seed = 3,
                            .labels = "auto",
                            .classes = {{"cats", 0, 2}},
                            .shards = {{.name = "s-0",
                                        .samples = 2,
                                        .bytes = 99,
                                        .content_bytes = 7,
                                        .crc32c = 1,
                                        .sidecar_crc32c = 2,
                                        .index_crc32c = 3,
                                        .left_out = {{"x", "vanished"}}}}};
    const std::string text = to_text(manifest);
    const std::string file = dir / kManifestName;
    write_file(file, text);
    EXPECT_EQ(to_text(*read_manifest(dir.path())), text);
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
        std::string flipped = text;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
        write_file(file, flipped);
        EXPECT_THROW((void)read_manifest(dir.path()), Error) << "byte " << at;
    }
    for (std::size_t size = 0; size + 1 < text.size(); size += 7) {
        write_file(file, text.substr(0, size));
        EXPECT_THROW((void)read_manifest(dir.path()), Error) << "cut at " << size;
    }
}

}  // namespace
}  // namespace feedline::test
