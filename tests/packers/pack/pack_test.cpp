#include "packers/pack/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <set>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/incomplete.h"
#include "loaders/inspect/inspect.h"
#include "loaders/packed/manifest.h"
#include "loaders/packed/sidecar.h"
#include "loaders/tfrecord/example.h"
#include "loaders/tfrecord/framing.h"
#include "packers/pack/journal.h"
#include "tests/packers/pack/pack_lab.h"
#include "tests/packers/small_filesystem.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Two classes, sizes at which blocks and pages begin and end, names that formats would rather not have.
std::map<std::string, std::string> odd_files() {
    std::map<std::string, std::string> files;
    unsigned seed = 0;
    for (const std::size_t bytes : {0U, 1U, 511U, 512U, 513U, 4095U, 4096U, 4097U, 100'000U}) {
        files["cats/" + std::to_string(bytes) + ".jpg"] = pattern(bytes, ++seed);
    }
    files["dogs/large"] = pattern((9U << 20U) + 7, 99);  // several pieces
    files["dogs/a b.jpg"] = pattern(10, 1);
    files["dogs/a.b.jpg"] = pattern(11, 2);
    files["dogs/a_b.jpg"] = pattern(12, 3);
    files["dogs/x.jpg"] = pattern(13, 4);
    files["dogs/x.png"] = pattern(14, 5);
    files["dogs/x"] = pattern(15, 6);
    files["dogs/label.cls"] = pattern(16, 7);
    files["dogs/100%.txt"] = pattern(17, 8);
    files["dogs/\xff\xfe.bin"] = pattern(18, 9);
    files["dogs/\xe7\x8c\xab.JPEG"] = pattern(19, 10);
    files["dogs/" + std::string(200, 'n') + ".jpg"] = pattern(20, 11);
    files["rooty.bin"] = pattern(21, 12);
    return files;
}

class PackedFormat : public ::testing::TestWithParam<std::string> {
protected:
    TempDir dir_;
};

TEST_P(PackedFormat, HoldsEverySampleWithItsLabelAndItsPath) {
    if (!can_look_into(GetParam())) GTEST_SKIP() << "no protobuf";
    const auto files = odd_files();
    const std::string source = write_tree(dir_ / "source", files);
    const PackResult result = pack_directory(source, dir_ / "packed", GetParam(), {.shard_bytes = 200'000});
    EXPECT_EQ(result.manifest.samples(), files.size());
    EXPECT_GT(result.manifest.shards.size(), 1U);

    // What our own reader gets, and what the sidecars say.
    const std::vector<ReadSample> samples = read_all(dir_ / "packed");
    std::vector<SidecarSample> lines;
    for (const PackedShard& shard : result.manifest.shards) {
        for_each_sample(dir_ / "packed" + "/" + shard.name + ".samples",
                        [&](const SidecarSample& line, std::uint64_t /*offset*/) { lines.push_back(line); });
    }
    ASSERT_EQ(samples.size(), files.size());
    ASSERT_EQ(lines.size(), files.size());
    std::set<std::string> keys;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        ASSERT_TRUE(files.contains(lines[i].path)) << lines[i].path;
        EXPECT_TRUE(samples[i].content == files.at(lines[i].path)) << lines[i].path;
        EXPECT_TRUE(keys.insert(lines[i].key).second) << lines[i].key;
        const Label label = lines[i].path.starts_with("cats/")   ? Label(std::int64_t{0})
                            : lines[i].path.starts_with("dogs/") ? Label(std::int64_t{1})
                                                                 : Label();
        EXPECT_EQ(lines[i].label, label) << lines[i].path;
        EXPECT_EQ(samples[i].label, label) << lines[i].path;
    }
}

TEST_P(PackedFormat, IsTheSameWhateverTheNumberOfThreads) {
    const std::string source = write_tree(dir_ / "source", odd_files());
    pack_directory(source, dir_ / "one", GetParam(), {.shard_bytes = 200'000, .threads = 1});
    pack_directory(source, dir_ / "five", GetParam(), {.shard_bytes = 200'000, .threads = 5});
    EXPECT_TRUE(tree(dir_ / "one") == tree(dir_ / "five"));  // gigabytes of text if it printed them
}

TEST_P(PackedFormat, BecomesAnotherFormatAndComesBackTheSame) {
    if (!can_look_into(GetParam())) GTEST_SKIP() << "no protobuf";
    const auto files = odd_files();
    const std::string source = write_tree(dir_ / "source", files);
    pack_directory(source, dir_ / "direct", "webdataset", {.name = "set", .shards = 3});
    pack_directory(source, dir_ / "there", GetParam(), {.name = "set", .shards = 2});
    pack_directory(dir_ / "there", dir_ / "back", "webdataset", {.name = "set", .shards = 3});
    const auto direct = tree(dir_ / "direct");
    const auto back = tree(dir_ / "back");
    for (const auto& [name, bytes] : direct) {
        // The manifests tell different sources.
        const bool same = back.contains(name) && back.at(name) == bytes;
        EXPECT_TRUE(same || name == kManifestName) << name;
    }
}

TEST_P(PackedFormat, GoesOnWhereAnEarlierRunEndedWithTheSameBytes) {
    auto files = odd_files();
    const std::string source = write_tree(dir_ / "source", files);
    pack_directory(source, dir_ / "whole", GetParam(), {.name = "set", .shard_bytes = 200'000, .threads = 1});
    // One that cannot be read stops the run behind a few shards that are whole.
    const std::string victim = source + "/dogs/x.png";
    const std::shared_ptr<const Dataset> dataset = open_dataset(source, "auto", {});
    fs::rename(victim, dir_ / "aside");
    const Interrupt never;
    PackOptions options{.destination = dir_ / "packed", .name = "set", .shard_bytes = 200'000, .threads = 1};
    EXPECT_EQ(kind_of([&] { pack(dataset, find_packer(GetParam()), options, {}, never); }), ErrorKind::changed);
    EXPECT_FALSE(fs::exists(dir_ / "packed"));
    fs::rename(dir_ / "aside", victim);

    std::string said;
    EXPECT_EQ(kind_of([&] { pack(dataset, find_packer(GetParam()), options, {}, never); }, &said), ErrorKind::usage);
    EXPECT_THAT(said, HasSubstr("--resume"));
    options.resume = true;
    const PackResult result = pack(dataset, find_packer(GetParam()), options, {}, never);
    EXPECT_GT(result.resumed_shards, 0U);
    EXPECT_TRUE(tree(dir_ / "packed") == tree(dir_ / "whole"));
    EXPECT_TRUE(pack(dataset, find_packer(GetParam()), options, {}, never).was_complete);
}

TEST_P(PackedFormat, LeavesOutAndNamesWhatCannotBeReadWhereItIsTold) {
    const auto files = odd_files();
    const std::string source = write_tree(dir_ / "source", files);
    const std::shared_ptr<const Dataset> dataset = open_dataset(source, "auto", {});
    fs::remove(source + "/dogs/x.png");
    fs::remove(source + "/cats/513.jpg");
    const Interrupt never;
    const PackResult result =
        pack(dataset, find_packer(GetParam()),
             {.destination = dir_ / "packed", .shard_bytes = 200'000, .on_error = OnError::skip}, {}, never);
    EXPECT_EQ(result.manifest.samples(), files.size() - 2);
    std::set<std::string> left_out;
    for (const PackedShard& shard : result.manifest.shards) {
        for (const LeftOut& one : shard.left_out) left_out.insert(one.path + ": " + one.why);
    }
    EXPECT_EQ(left_out, (std::set<std::string>{"dogs/x.png: vanished", "cats/513.jpg: vanished"}));
    EXPECT_EQ(read_all(dir_ / "packed").size(), files.size() - 2);
}

// The folders' names are of other labels than those that are given.
TEST_P(PackedFormat, NamesNoClassesOfLabelsThatAreNotTheSourcesOwn) {
    if (!can_look_into(GetParam())) GTEST_SKIP() << "no protobuf";
    const std::string source = write_tree(dir_ / "source", {{"cats/1.jpg", "one"}, {"dogs/2.jpg", "two"}});
    write_file(dir_ / "labels.tsv", "cats/1.jpg\t1\ndogs/2.jpg\t0\n");
    for (const std::string& labels : {dir_ / "labels.tsv", std::string("none")}) {
        const std::string packed = dir_ / "packed" + std::to_string(labels.size());
        const PackResult result = pack_directory(source, packed, GetParam(), {.labels = labels});
        EXPECT_TRUE(result.manifest.classes.empty());
        for (const ReadSample& sample : read_all(packed)) EXPECT_THAT(sample.class_name, Not(AnyOf("cats", "dogs")));
        const std::shared_ptr<const Dataset> dataset = open_dataset(packed, "auto", {});
        for (const ClassName& one : dataset->info().classes) {
            EXPECT_THAT(one.name, Not(AnyOf("cats", "dogs")));
        }
    }
}

TEST_P(PackedFormat, CarriesEveryKindOfLabelOnOrRefusesIt) {
    if (!can_look_into("tfrecord")) GTEST_SKIP() << "no protobuf";
    const std::string source =
        write_tree(dir_ / "source", {{"a/1.jpg", "one"}, {"a/2.jpg", "two"}, {"b/3.txt", "three"}});
    write_file(dir_ / "labels.tsv", "a/1.jpg\t7\na/2.jpg\t1,2\nb/3.txt\ta cat\n");
    const auto pack_labelled = [&] {
        pack_directory(source, dir_ / "packed", GetParam(), {.labels = dir_ / "labels.tsv"});
    };
    if (GetParam() == "hdf5" || GetParam() == "pth") {
        EXPECT_EQ(kind_of(pack_labelled), ErrorKind::usage);  // their labels are numbers
        return;
    }
    pack_labelled();
    pack_directory(dir_ / "packed", dir_ / "again", "tfrecord");
    const std::vector<ReadSample> samples = read_all(dir_ / "again");
    EXPECT_EQ(samples.at(0).label, Label(std::int64_t{7}));
    EXPECT_EQ(samples.at(1).label, Label(std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(samples.at(2).label, Label("a cat"));
    EXPECT_EQ(samples.at(2).parts.size(), 1U);  // what told the label is no part
}

TEST_P(PackedFormat, IsNoSourceOnceASampleIsDamagedOrAShardIsGone) {
    const std::string content = pattern(600, 5);
    const std::string source = write_tree(dir_ / "source", {{"a/1.jpg", content}, {"a/2.jpg", "two"}});
    pack_directory(source, dir_ / "packed", GetParam(), {.shards = 2});
    const auto again = [&] { pack_directory(dir_ / "packed", dir_ / "again", "webdataset"); };
    for (const auto& file : tree(dir_ / "packed")) {
        const std::size_t at = file.second.find(content);
        if (at == std::string::npos) continue;
        std::string flipped = file.second;
        flipped[at + 300] = static_cast<char>(flipped[at + 300] ^ 4);
        write_file((dir_ / "packed/") + file.first, flipped);
        EXPECT_EQ(kind_of(again), ErrorKind::corrupt) << file.first;
        write_file((dir_ / "packed/") + file.first, file.second);
    }
    const Manifest manifest = *read_manifest(dir_ / "packed");
    fs::rename((dir_ / "packed/") + manifest.shards[1].name, dir_ / "aside");
    EXPECT_EQ(kind_of(again), ErrorKind::corrupt);
    EXPECT_FALSE(fs::exists(dir_ / "again"));
}

TEST_P(PackedFormat, SaysThatTheDiskIsFullAndLeavesNothingThatLooksFinished) {
    const SmallFilesystem small;
    if (!small.mounted()) GTEST_SKIP() << "mounting needs root";
    std::map<std::string, std::string> files;
    for (unsigned i = 0; i < 30; ++i) files["a/" + std::to_string(i)] = pattern(100'000, i);
    const std::string source = write_tree(dir_ / "source", files);
    const auto onto_full = [&] {
        // The estimate sees that it cannot fit; what else fills the disk meanwhile it cannot see.
        write_file(small.path() + "/filler", pattern(2'000'000, 1));
        pack_directory(source, small.path() + "/packed", GetParam(), {.shard_bytes = 500'000});
    };
    std::string said;
    EXPECT_EQ(kind_of(onto_full, &said), ErrorKind::out_of_space);
    EXPECT_THAT(said, HasSubstr(small.path()));
    EXPECT_FALSE(fs::exists(small.path() + "/packed"));
}

TEST_P(PackedFormat, FinishesWithResumeOnceThereIsRoomAgain) {
    const SmallFilesystem small;
    if (!small.mounted()) GTEST_SKIP() << "mounting needs root";
    std::map<std::string, std::string> files;
    for (unsigned i = 0; i < 20; ++i) files["a/" + std::to_string(i)] = pattern(100'000, i);
    const std::string source = write_tree(dir_ / "source", files);
    const std::shared_ptr<const Dataset> dataset = open_dataset(source, "auto", {});
    PackOptions options{.destination = small.path() + "/packed", .shard_bytes = 500'000, .threads = 1};
    const Interrupt never;
    // Fills the disk when the first shard is whole.
    const auto fill = [&](const PackProgress& progress) {
        if (progress.shards == 0 || fs::exists(small.path() + "/filler")) return;
        try {
            write_file(small.path() + "/filler", pattern(4'000'000, 1));
        } catch (const std::exception&) {  // as much as there was room for
        }
    };
    options.rate_bytes_per_second = 2e6;  // so that somebody can come in between
    EXPECT_EQ(kind_of([&] { pack(dataset, find_packer(GetParam()), options, fill, never); }), ErrorKind::out_of_space);
    EXPECT_FALSE(fs::exists(options.destination));
    fs::remove(small.path() + "/filler");
    options.resume = true;
    options.rate_bytes_per_second = 0;
    pack(dataset, find_packer(GetParam()), options, {}, never);
    pack_directory(source, dir_ / "whole", GetParam(), {.shard_bytes = 500'000});
    EXPECT_TRUE(tree(options.destination) == tree(dir_ / "whole"));
}

std::vector<std::string> formats() {
    std::vector<std::string> names;
    for (const Packer* packer : all_packers()) names.emplace_back(packer->format());
    return names;
}

INSTANTIATE_TEST_SUITE_P(Every, PackedFormat, ::testing::ValuesIn(formats()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace feedline::test
