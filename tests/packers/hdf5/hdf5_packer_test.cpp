// Shards of the packed layout, read back by our reader.
#include "packers/hdf5/hdf5_packer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <span>
#include <thread>

#include "core/error.h"
#include "loaders/hdf5/hdf5_format.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;

struct Sample {
    std::string path;
    std::string content;
    Label label = {};
};

class Hdf5PackerTest : public testing::Test {
protected:
    // `bound_bytes`: how much the shard is said to hold at most.
    void pack(const std::vector<Sample>& samples, std::uint64_t bound_bytes = 0,
              std::span<const ClassName> classes = {}) {
        fs::remove(path_);
        ShardPlan plan;
        plan.path = path_;
        plan.samples = samples.size();
        plan.content_bytes = bound_bytes;
        plan.content_is_exact = false;
        plan.classes = classes;
        const auto writer = Hdf5Packer().open(plan);
        for (const Sample& sample : samples) {
            SampleHead head;
            head.path = sample.path;
            head.label = sample.label;
            head.parts = {{"bin", sample.content.size()}};
            EXPECT_EQ(writer->begin(head), sample.path);
            const std::span<const char> content = sample.content;
            writer->append(std::as_bytes(content.first(content.size() / 2)));
            writer->append(std::as_bytes(content.subspan(content.size() / 2)));
            writer->end();
        }
        writer->finish();
    }

    std::unique_ptr<Dataset> read() { return Hdf5Format().open(path_, {}); }

    static std::string content(const Dataset& dataset, SampleId id) {
        Extent extent;
        dataset.locate(std::span(&id, 1), std::span(&extent, 1));
        return test::read_file(dataset.path(0)).substr(extent.offset_bytes, extent.length_bytes);
    }

    test::TempDir directory_;
    std::string path_ = directory_ / "shard.h5";
};

TEST_F(Hdf5PackerTest, ShardsOfAnySizeComeBackInPlain) {
    for (const std::size_t bytes : {0U, 1U, 511U, 512U, 513U, 4095U, 4096U, 4097U, 300'000U}) {
        const std::vector<Sample> samples = {{"a/1.bin", test::pattern(bytes, 1), 5}, {"b", "", {}}, {"c", "x", -1}};
        pack(samples);
        const auto dataset = read();
        ASSERT_EQ(dataset->size(), samples.size());
        EXPECT_TRUE(dataset->has_extents());
        for (SampleId id = 0; id < samples.size(); ++id) {
            EXPECT_TRUE(content(*dataset, id) == samples[id].content);
            EXPECT_EQ(dataset->key(id), samples[id].path);
            EXPECT_EQ(dataset->views(id, {}).label, samples[id].label);
        }
        EXPECT_EQ(dataset->views(0, {}).parts.at(0).name, "bin");
    }
}

TEST_F(Hdf5PackerTest, NothingButEmptySamplesIsADatasetToo) {
    pack({{"a", ""}, {"b", ""}});
    const auto dataset = read();
    EXPECT_EQ(dataset->size(), 2U);
    EXPECT_EQ(dataset->info().bytes, 0U);
    EXPECT_EQ(dataset->label(0), std::nullopt);
}

// How much was expected leaves no trace, nor does the time.
TEST_F(Hdf5PackerTest, TheSameSamplesAreTheSameBytes) {
    const std::vector<Sample> samples = {{"a", test::pattern(5000, 1), 1}, {"b", "2", 2}};
    pack(samples, 5001);
    const std::string first = test::read_file(path_);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 counts seconds
    pack(samples, 1 << 20);
    EXPECT_TRUE(test::read_file(path_) == first);
}

TEST_F(Hdf5PackerTest, ManyClassesAndNamesOfAnyBytesAreKept) {
    std::vector<ClassName> classes;
    for (std::int64_t i = 0; i < 22'000; ++i) classes.push_back({fmt::format("class {}", i), i * 2, 0});
    classes.push_back({"\xff\xfe", 1'000'001, 0});
    const std::vector<Sample> samples = {
        {"x\xff", "1", 2}, {std::string(300, 'n'), "2", 1'000'001}, {"last", "3", 43'998}};
    pack(samples, 3, classes);
    const auto dataset = read();
    ASSERT_EQ(dataset->info().classes.size(), classes.size());
    EXPECT_EQ(dataset->views(0, {}).class_name, "class 1");
    EXPECT_EQ(dataset->views(1, {}).class_name, "\xff\xfe");
    EXPECT_EQ(dataset->views(2, {}).class_name, "class 21999");
    EXPECT_EQ(dataset->key(0), "x\xff");
    EXPECT_EQ(dataset->key(1), std::string(300, 'n'));
}

TEST_F(Hdf5PackerTest, LabelsThatAreNoNumberAreRefused) {
    EXPECT_THROW(pack({{"a", "", std::string("text")}}), Error);
    EXPECT_THROW(pack({{"a", "", std::vector<std::int64_t>{1, 2}}}), Error);
}

}  // namespace
}  // namespace feedline
