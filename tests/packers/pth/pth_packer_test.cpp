// Shards as our reader and the rules of ZIP see them. What PyTorch says of them: torch_pack_test.py.
#include "packers/pth/pth_packer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/crc32.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "loaders/pth/pth_format.h"
#include "loaders/pth/zip_archive.h"
#include "tests/loaders/pth/read_all.h"
#include "tests/testutil/memory_directory.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using namespace test;
using testing::HasSubstr;

struct Sample {
    std::string path;
    std::string payload;
    Label label = {};
};

class PthPackerTest : public testing::Test {
protected:
    // Writes a shard, the payloads in pieces of `piece_bytes`.
    ShardSum write(const std::string& path, const std::vector<Sample>& samples, std::size_t piece_bytes = 1000) {
        const ShardPlan plan{.path = path, .index_path = {}, .samples = samples.size(), .classes = classes_};
        const std::unique_ptr<ShardWriter> writer = PthPacker().open(plan);
        for (std::size_t i = 0; i < samples.size(); ++i) {
            const Sample& sample = samples[i];
            EXPECT_EQ(writer->begin({.number = i,
                                     .path = sample.path,
                                     .label = sample.label,
                                     .class_name = {},
                                     .parts = {{"jpg", sample.payload.size()}}}),
                      sample.path);
            for (std::size_t at = 0; at < sample.payload.size(); at += piece_bytes) {
                writer->append(std::as_bytes(std::span(sample.payload))
                                   .subspan(at)
                                   .first(std::min(piece_bytes, sample.payload.size() - at)));
            }
            writer->end();
        }
        return writer->finish();
    }

    TempDir directory_{memory_directory()};
    std::string path_ = directory_ / "set-00000.pth";
    std::vector<ClassName> classes_ = {{"cat", 0, 1}, {"d\xffg", 1, 1}};
};

TEST_F(PthPackerTest, EverySampleComesBackWithItsPathAndLabel) {
    std::vector<Sample> samples;
    for (const std::size_t bytes : {0U, 1U, 511U, 512U, 513U, 4095U, 4096U, 4097U, 70'000U}) {
        samples.push_back(
            {fmt::format("cat/{}.jpg", bytes), pattern(bytes, static_cast<unsigned>(bytes)), std::int64_t{0}});
    }
    samples.push_back({"d\xffg/\xe7\x8c\xab \xed\xb3\xbf.JPEG", "raw bytes", std::int64_t{1}});
    samples.push_back({"none", "no label", {}});
    samples.push_back({"one", "a list of one", std::vector<std::int64_t>{-5}});
    const ShardSum sum = write(path_, samples);
    const std::string file = read_file(path_);
    EXPECT_EQ(sum.bytes, file.size());
    EXPECT_EQ(sum.crc32c, crc32c(std::as_bytes(std::span(file))));

    EXPECT_EQ(PthFormat().probe(path_), Confidence::yes);
    const auto dataset = PthFormat().open(path_, {});
    ASSERT_EQ(dataset->size(), samples.size());
    EXPECT_TRUE(dataset->has_extents());
    for (SampleId id = 0; id < samples.size(); ++id) {
        EXPECT_EQ(dataset->key(id), samples[id].path);
        EXPECT_EQ(by_extent(*dataset, id), samples[id].payload);
    }
    EXPECT_EQ(dataset->label(0), 0);
    EXPECT_EQ(dataset->label(9), 1);
    EXPECT_EQ(dataset->label(10), std::nullopt);
    EXPECT_EQ(dataset->label(11), -5);
    ASSERT_EQ(dataset->info().classes.size(), 2U);
    EXPECT_EQ(dataset->info().classes[1].name, "d\xffg");
}

TEST_F(PthPackerTest, EntriesAreAlignedAndTheirChecksumsRight) {
    write(path_, {{"a", pattern(1000, 1), {}}, {"b", pattern(77, 2), {}}});
    const std::string content = read_file(path_);
    FileWindow file(path_, content.size());
    const pth::ZipArchive zip(file);
    std::vector<std::string> names;
    for (const pth::ZipEntry& entry : zip.entries()) {
        names.emplace_back(entry.name);
        const std::uint64_t offset = zip.data_offset(entry);
        EXPECT_EQ(offset % 64, 0U) << entry.name;
        EXPECT_EQ(crc32(std::as_bytes(std::span(content)).subspan(offset, entry.size_bytes)), entry.crc32);
    }
    // Nobody has a label: no data/2.
    EXPECT_THAT(names, testing::ElementsAre("archive/byteorder", "archive/data/0", "archive/data/1", "archive/data.pkl",
                                            "archive/version"));
}

TEST_F(PthPackerTest, IsTheSameWhateverThePieces) {
    const std::vector<Sample> samples = {{"a", pattern(100'000, 1), std::int64_t{0}}, {"b", "", std::int64_t{1}}};
    write(path_, samples, 1);
    write(directory_ / "other", samples, 100'000);
    EXPECT_EQ(read_file(path_), read_file(directory_ / "other"));
}

TEST_F(PthPackerTest, ManySamplesAndClasses) {
    for (std::int64_t i = 2; i < 2001; ++i) classes_.push_back({fmt::format("c{}", i), i, 1});
    for (const std::size_t count : {1U, 999U, 1000U, 1001U, 2000U}) {
        std::vector<Sample> samples;
        for (std::size_t i = 0; i < count; ++i) {
            samples.push_back({fmt::format("{:05}", i), std::to_string(i), static_cast<std::int64_t>(i)});
        }
        const std::string path = directory_ / std::to_string(count);
        write(path, samples);
        const auto dataset = PthFormat().open(path, {});
        ASSERT_EQ(dataset->size(), count);
        EXPECT_EQ(dataset->info().classes.size(), 2001U);
        EXPECT_EQ(dataset->key(count - 1), fmt::format("{:05}", count - 1));
        EXPECT_EQ(by_extent(*dataset, count - 1), std::to_string(count - 1));
    }
}

TEST_F(PthPackerTest, LabelsThatAreNoNumberAreRefused) {
    for (const Label& label : {Label(std::string("a cat")), Label(std::vector<std::int64_t>{1, 2})}) {
        try {
            write(directory_ / std::to_string(label.index()), {{"a", "x", label}});
            FAIL() << "nothing was thrown";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_THAT(error.what(), HasSubstr("--labels none"));
        }
    }
}

}  // namespace
}  // namespace feedline
