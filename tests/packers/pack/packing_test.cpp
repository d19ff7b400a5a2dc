// What pack() does and refuses whatever the format: destinations, leftovers, options, labels.
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
using ::testing::Contains;
using ::testing::HasSubstr;

class Packing : public ::testing::Test {
protected:
    TempDir dir_;
    std::string source_ = write_tree(dir_ / "source", {{"a/1.jpg", "one"}, {"a/2.jpg", "two"}, {"b/3.jpg", "three"}});
};

TEST_F(Packing, TouchesNoDestinationThatIsInUse) {
    write_file(dir_ / "mine/thesis.txt", "years of work");
    EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "mine", "tfrecord"); }), ErrorKind::usage);
    EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "mine", "tfrecord", {.overwrite = true}); }),
              ErrorKind::usage);
    EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "mine", "tfrecord", {.resume = true}); }), ErrorKind::usage);
    EXPECT_EQ(read_file(dir_ / "mine/thesis.txt"), "years of work");
    EXPECT_EQ(kind_of([&] { pack_directory(source_, source_ + "/inside", "tfrecord"); }), ErrorKind::usage);
    EXPECT_FALSE(fs::exists(source_ + "/inside.incomplete"));
}

TEST_F(Packing, OverwritesAPackedDatasetOnlyWhenAskedTo) {
    pack_directory(source_, dir_ / "packed", "tfrecord");
    const auto before = tree(dir_ / "packed");
    EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "packed", "webdataset"); }), ErrorKind::usage);
    EXPECT_EQ(tree(dir_ / "packed"), before);
    pack_directory(source_, dir_ / "packed", "webdataset", {.overwrite = true});
    EXPECT_EQ(open_dataset(dir_ / "packed", "auto", {})->info().format, "webdataset");
    EXPECT_FALSE(fs::exists(dir_ / "packed.incomplete"));
}

TEST_F(Packing, ResumesAtEveryStepBetweenTheManifestAndTheEnd) {
    pack_directory(source_, dir_ / "whole", "webdataset");
    const auto whole = tree(dir_ / "whole");
    const std::string plan = read_manifest(dir_ / "whole").value().plan;
    const std::string left = dir_ / "packed.incomplete";
    const auto kill_with = [&](bool journal, bool marker) {
        fs::remove_all(dir_ / "packed");
        fs::copy(dir_ / "whole", left);
        if (journal) write_file(left + "/" + kJournalName, R"({"plan":")" + plan + "\",\"replaces\":false}\n");
        if (marker) write_file(left + "/" + kIncompleteMarker, "");
    };
    for (const auto& [journal, marker] : {std::pair(true, true), std::pair(false, true), std::pair(false, false)}) {
        kill_with(journal, marker);
        EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "packed", "webdataset"); }), ErrorKind::usage);
        pack_directory(source_, dir_ / "packed", "webdataset", {.resume = true});
        EXPECT_TRUE(tree(dir_ / "packed") == whole) << "journal " << journal << ", marker " << marker;
        EXPECT_FALSE(fs::exists(left));
    }
}

TEST_F(Packing, ReplacesAtEveryStepOfBeingReplaced) {
    pack_directory(source_, dir_ / "old", "webdataset", {.name = "s"});
    pack_directory(source_, dir_ / "new", "tfrecord", {.name = "s"});
    const auto old = tree(dir_ / "old");
    const auto fresh = tree(dir_ / "new");
    const std::string left = dir_ / "packed.incomplete";
    const auto killed = [&](const char* there, const char* beside) {
        fs::remove_all(dir_ / "packed");
        fs::remove_all(left);
        fs::copy(dir_ / there, dir_ / "packed");
        fs::copy(dir_ / beside, left);
    };
    const PackOptions resume{.name = "s", .resume = true};
    const PackOptions both{.name = "s", .resume = true, .overwrite = true};

    // Before the exchange: --resume alone does not replace what it cannot know that it may.
    killed("old", "new");
    std::string said;
    EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "packed", "tfrecord", resume); }, &said), ErrorKind::usage);
    EXPECT_THAT(said, HasSubstr("--resume --overwrite"));
    EXPECT_EQ(pack_directory(source_, dir_ / "packed", "tfrecord", both).resumed_shards, 1U);
    EXPECT_TRUE(tree(dir_ / "packed") == fresh);
    EXPECT_FALSE(fs::exists(left));

    // Behind it: what was replaced is whole, or what is left of it.
    for (const bool partly : {false, true}) {
        killed("new", "old");
        if (partly) {
            write_file(left + "/" + kIncompleteMarker, "");
            fs::remove(left + "/" + kManifestName);
            fs::remove(left + "/s-000000.tar");
        }
        EXPECT_EQ(pack_directory(source_, dir_ / "packed", "tfrecord", resume).left_beside, left);
        EXPECT_TRUE(pack_directory(source_, dir_ / "packed", "tfrecord", both).left_beside.empty());
        EXPECT_FALSE(fs::exists(left));
        EXPECT_TRUE(tree(dir_ / "packed") == fresh);
    }

    // A manifest without its shards is not put in place, however it came about.
    killed("new", "old");
    fs::remove(left + "/s-000000.tar");
    pack_directory(source_, dir_ / "packed", "webdataset", both);
    EXPECT_TRUE(tree(dir_ / "packed") == old);
}

TEST_F(Packing, OverwritesNothingThatItDidNotWrite) {
    pack_directory(source_, dir_ / "packed", "tfrecord");
    write_file(dir_ / "packed/notes.txt", "mine");
    std::string said;
    EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "packed", "tfrecord", {.overwrite = true}); }, &said),
              ErrorKind::usage);
    EXPECT_THAT(said, HasSubstr("notes.txt"));
    EXPECT_EQ(read_file(dir_ / "packed/notes.txt"), "mine");
}

TEST_F(Packing, WaitsForNoPipeInTheirFilesPlace) {
    pack_directory(source_, dir_ / "packed", "tfrecord");
    const std::string pipe = dir_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "x", "tfrecord", {.labels = pipe}); }), ErrorKind::io);
    for (const char* name : {"feedline.manifest.json", "source-00000-of-00001.tfrecord.samples"}) {
        fs::rename((dir_ / "packed/") + name, dir_ / "aside");
        fs::rename(pipe, (dir_ / "packed/") + name);
        EXPECT_EQ(kind_of([&] { pack_directory(dir_ / "packed", dir_ / "x", "webdataset"); }), ErrorKind::io) << name;
        fs::rename((dir_ / "packed/") + name, pipe);
        fs::rename(dir_ / "aside", (dir_ / "packed/") + name);
    }
}

TEST_F(Packing, TakesNoSidecarThatIsNotTheShardsOwn) {
    pack_directory(source_, dir_ / "packed", "tfrecord", {.shards = 3});
    const std::string first = dir_ / "packed/source-00000-of-00003.tfrecord.samples";
    const std::string second = dir_ / "packed/source-00001-of-00003.tfrecord.samples";
    fs::rename(first, dir_ / "aside");
    fs::rename(second, first);
    fs::rename(dir_ / "aside", second);
    EXPECT_EQ(kind_of([&] { pack_directory(dir_ / "packed", dir_ / "again", "webdataset"); }), ErrorKind::corrupt);
}

std::vector<std::string> paths_in(const std::string& packed) {
    std::vector<std::string> paths;
    const Manifest manifest = read_manifest(packed).value();
    for (const PackedShard& shard : manifest.shards) {
        for_each_sample(packed + "/" + shard.name + ".samples",
                        [&](const SidecarSample& line, std::uint64_t /*offset*/) { paths.push_back(line.path); });
    }
    return paths;
}

TEST_F(Packing, KeepsThePathsOfOneShardOfOurs) {
    pack_directory(source_, dir_ / "packed", "pth", {.shards = 3});
    pack_directory(dir_ / "packed/source-00001.pth", dir_ / "one", "webdataset");
    EXPECT_EQ(paths_in(dir_ / "one"), std::vector<std::string>{"a/2.jpg"});
    pack_directory(dir_ / "packed/source-0000[12].pth", dir_ / "two", "webdataset");
    EXPECT_EQ(paths_in(dir_ / "two"), (std::vector<std::string>{"a/2.jpg", "b/3.jpg"}));
}

// As others leave them.
void remove_what_remembers(const std::string& packed) {
    for (const auto& entry : fs::directory_iterator(packed)) {
        const fs::path suffix = entry.path().extension();
        if (suffix == ".samples" || suffix == ".json") fs::remove(entry.path());
    }
}

TEST_F(Packing, NumbersNoSampleTwice) {
    std::string from = dir_ / "0";
    pack_directory(source_, from, "webdataset", {.name = "s"});
    const auto first = tree(from);
    for (const char* name : {"1", "2"}) {
        remove_what_remembers(from);
        pack_directory(from, dir_ / name, "webdataset", {.name = "s"});
        EXPECT_EQ(paths_in(dir_ / name), (std::vector<std::string>{"a/1.jpg", "a/2.jpg", "b/3.jpg"}));
        from = dir_ / name;
        EXPECT_EQ(tree(from).at("s-000000.tar"), first.at("s-000000.tar"));
    }
    // Two of one key: a number tells them apart, and goes on doing so.
    fs::copy(dir_ / "2/s-000000.tar", dir_ / "2/s-000001.tar");
    remove_what_remembers(from);
    pack_directory(from, dir_ / "3", "webdataset");
    const std::vector<std::string> numbered = paths_in(dir_ / "3");
    EXPECT_EQ(numbered.at(0), "00000000_a/1.jpg");
    EXPECT_EQ(numbered.at(3), "00000003_a/1.jpg");
    remove_what_remembers(dir_ / "3");
    pack_directory(dir_ / "3", dir_ / "4", "tfrecord");
    EXPECT_EQ(paths_in(dir_ / "4"), numbered);
}

TEST_F(Packing, FailsWhereNothingOfAShardCanBeRead) {
    const std::shared_ptr<const Dataset> dataset = open_dataset(source_, "auto", {});
    fs::remove(source_ + "/b/3.jpg");
    const Interrupt never;
    std::string said;
    const PackOptions options{.destination = dir_ / "packed", .shards = 3, .on_error = OnError::skip};
    EXPECT_EQ(kind_of([&] { pack(dataset, find_packer("webdataset"), options, {}, never); }, &said),
              ErrorKind::corrupt);
    EXPECT_THAT(said, HasSubstr("--shard-size"));
    EXPECT_THAT(said, HasSubstr("b/3.jpg"));
    EXPECT_FALSE(fs::exists(dir_ / "packed"));
}

TEST_F(Packing, SaysWhatAPersonShouldKnowBeforeItWrites) {
    std::map<std::string, std::string> many;
    for (unsigned i = 0; i < 1000; ++i) many["c/" + std::to_string(i)] = "x";
    const std::string source = write_tree(dir_ / "many", many);
    const PackOptions options{.destination = dir_ / "packed", .shard_bytes = 1};
    const PackPlan plan = plan_pack(open_dataset(source, "auto", {}), find_packer("webdataset"), options);
    EXPECT_EQ(plan.shards, 1000U);
    ASSERT_EQ(plan.notes.size(), 1U);
    EXPECT_THAT(plan.notes[0], HasSubstr("1,000 samples gets a shard of its own"));
    std::vector<std::string> notes;
    pack_directory(source_, dir_ / "ours", "pth", {.note = [&](const std::string& note) { notes.push_back(note); }});
    remove_what_remembers(dir_ / "ours");
    pack_directory(dir_ / "ours", dir_ / "again", "pth",
                   {.note = [&](const std::string& note) { notes.push_back(note); }});
    EXPECT_TRUE(notes.empty()) << notes.front();
}

TEST_F(Packing, RefusesLinesOfLabelsThatAreNone) {
    write_file(dir_ / "windows.tsv", "a/1.jpg\t7\r\na/2.jpg\t8\r\nb/3.jpg\t9\r\n");
    pack_directory(source_, dir_ / "labelled", "webdataset", {.labels = dir_ / "windows.tsv"});
    EXPECT_EQ(read_all(dir_ / "labelled").at(0).label, Label(std::int64_t{7}));
    for (const char* line :
         {"a/1.jpg\t\n", "a/1.jpg\t9223372036854775808\n", "a/1.jpg\t-9223372036854775808\n", "a/1.jpg 7\n", "\t7\n"}) {
        write_file(dir_ / "bad.tsv", line);
        EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "bad", "webdataset", {.labels = dir_ / "bad.tsv"}); }),
                  ErrorKind::usage)
            << line;
    }
}

TEST_F(Packing, RefusesToGoOnWithOtherOptions) {
    const std::shared_ptr<const Dataset> dataset = open_dataset(source_, "auto", {});
    fs::remove(source_ + "/b/3.jpg");
    const Interrupt never;
    PackOptions options{.destination = dir_ / "packed", .shards = 3, .threads = 1};
    EXPECT_EQ(kind_of([&] { pack(dataset, find_packer("tfrecord"), options, {}, never); }), ErrorKind::changed);
    options.resume = true;
    options.shards = 2;
    std::string said;
    EXPECT_EQ(kind_of([&] { pack(dataset, find_packer("tfrecord"), options, {}, never); }, &said), ErrorKind::usage);
    EXPECT_THAT(said, HasSubstr("--overwrite"));
}

TEST_F(Packing, MakesTheGivenNumberOfShards) {
    EXPECT_EQ(pack_directory(source_, dir_ / "three", "tfrecord", {.shards = 3}).manifest.shards.size(), 3U);
    EXPECT_EQ(kind_of([&] { pack_directory(source_, dir_ / "four", "tfrecord", {.shards = 4}); }), ErrorKind::usage);
}

TEST_F(Packing, ShufflesAsTheSeedSays) {
    std::map<std::string, std::string> many;
    for (unsigned i = 0; i < 50; ++i) many["c/" + std::to_string(i)] = std::to_string(i);
    const std::string source = write_tree(dir_ / "many", many);
    const auto order = [&](const std::string& name, std::uint64_t seed) {
        pack_directory(source, dir_ / name, "tfrecord", {.order = OrderMode::shuffle, .seed = seed});
        std::vector<std::string> contents;
        for (const ReadSample& sample : read_all(dir_ / name)) contents.push_back(sample.content);
        return contents;
    };
    const auto first = order("first", 1);
    EXPECT_EQ(order("again", 1), first);
    EXPECT_NE(order("other", 2), first);
    EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 50U);
}

TEST_F(Packing, TakesLabelsFromAFileAndNoneWhereToldSo) {
    if (!can_look_into("tfrecord")) GTEST_SKIP() << "no protobuf";
    write_file(dir_ / "labels.tsv", "a/1.jpg\t7\na/2.jpg\t1,2\nb/3.jpg\ta cat\n");
    pack_directory(source_, dir_ / "labelled", "tfrecord", {.labels = dir_ / "labels.tsv"});
    const std::vector<ReadSample> samples = read_all(dir_ / "labelled");
    EXPECT_EQ(samples.at(0).label, Label(std::int64_t{7}));
    EXPECT_EQ(samples.at(1).label, Label(std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(samples.at(2).label, Label("a cat"));
    pack_directory(source_, dir_ / "bare", "tfrecord", {.labels = "none"});
    EXPECT_EQ(read_all(dir_ / "bare").at(0).label, Label());
    write_file(dir_ / "short.tsv", "a/1.jpg\t7\n");
    std::string said;
    EXPECT_EQ(
        kind_of([&] { pack_directory(source_, dir_ / "short", "tfrecord", {.labels = dir_ / "short.tsv"}); }, &said),
        ErrorKind::usage);
    EXPECT_THAT(said, HasSubstr("a/2.jpg"));
}

TEST_F(Packing, SaysWhichLinesOfLabelsAreOfNoSampleAndTakesPathsOfFind) {
    write_file(dir_ / "labels.tsv", "gone.jpg\t1\n./a/1.jpg\t7\na/2.jpg\t8\n./b/3.jpg\t9\ngone/too.jpg\t1\n");
    std::vector<std::string> notes;
    const auto note = [&](const std::string& text) { notes.push_back(text); };
    pack_directory(source_, dir_ / "labelled", "webdataset", {.labels = dir_ / "labels.tsv", .note = note});
    EXPECT_EQ(read_all(dir_ / "labelled").at(0).label, Label(std::int64_t{7}));
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0], HasSubstr("2 lines of the file of labels are of no sample, the first is line 1: gone.jpg"));
    // The paths of a packed dataset of ours are known as well.
    pack_directory(dir_ / "labelled", dir_ / "again", "webdataset", {.labels = dir_ / "labels.tsv", .note = note});
    EXPECT_EQ(notes.size(), 2U);
}

TEST_F(Packing, SaysWhichFeaturesOfOtherPeoplesExamplesItGoesWithout) {
    if (!can_look_into("tfrecord")) GTEST_SKIP() << "no protobuf";
    const auto field = [](char tag, const std::string& content) {  // of less than 128 bytes
        return std::string{tag, static_cast<char>(content.size())} + content;
    };
    const auto bytes = [&](const std::string& name, const std::string& value) {
        return field(0x0a, field(0x0a, name) + field(0x12, field(0x0a, field(0x0a, value))));
    };
    const auto write = [&](const std::string& path, const std::string& features) {
        const std::string example = field(0x0a, features);
        const auto header = tfrecord::make_header(example.size());
        const auto footer = tfrecord::make_footer(crc32c(std::as_bytes(std::span(example))));
        const auto text = [](const auto& raw) {
            return std::string(reinterpret_cast<const char*>(raw.data()), raw.size());
        };
        write_file(path, text(header) + example + text(footer));
    };
    write(dir_ / "boxes.tfrecord", bytes("image/encoded", "x") + bytes("image/filename", "x.jpg") + bytes("bbox", "1"));
    write(dir_ / "table.tfrecord", bytes("left", "x") + bytes("right", "y"));
    for (const auto& [name, said] :
         {std::pair{"boxes", "without what else their records hold: bbox (names of 1 record"},
          std::pair{"table", "a sample is the whole serialized record"}}) {
        const std::string source = dir_ / name + ".tfrecord";
        const PackResult result = pack_directory(source, dir_ / name, "webdataset");
        ASSERT_EQ(result.notes.size(), 1U) << name;
        EXPECT_THAT(result.notes[0], HasSubstr(said));
        EXPECT_THAT(inspect(open_dataset(source, "auto", {}), 1, 200).warnings, Contains(HasSubstr(said)));
    }
    pack_directory(source_, dir_ / "ours", "tfrecord");
    remove_what_remembers(dir_ / "ours");
    EXPECT_TRUE(pack_directory(dir_ / "ours", dir_ / "again", "tfrecord").notes.empty());
}

TEST_F(Packing, SaysWhatBecameOfLabelsThatTheFormatHasNoPlaceFor) {
    for (const Packer* packer : all_packers()) {
        const std::string format(packer->format());
        if (format != "lmdb" && format != "hdf5" && format != "pth") continue;
        const std::string packed = dir_ / format;
        if (format == "lmdb") {
            write_file(dir_ / "labels.tsv", "a/1.jpg\t7\na/2.jpg\t1,2\nb/3.jpg\ta cat\n");
            const PackResult result = pack_directory(source_, packed, format, {.labels = dir_ / "labels.tsv"});
            ASSERT_EQ(result.notes.size(), 1U);
            EXPECT_THAT(result.notes[0], HasSubstr("2 labels"));
            EXPECT_THAT(result.notes[0], HasSubstr("such as that of a/2.jpg"));
        } else {
            write_file(source_ + "/root.jpg", "no class");
            const PackResult result = pack_directory(source_, packed, format);
            ASSERT_EQ(result.notes.size(), 1U);
            EXPECT_THAT(result.notes[0], HasSubstr("1 sample without a label among 3"));
            fs::remove(source_ + "/root.jpg");
        }
        EXPECT_TRUE(pack_directory(source_, packed + "2", format).notes.empty());
    }
}

TEST_F(Packing, KeepsSamplesOfSeveralPartsWhole) {
    if (!can_look_into("tfrecord")) GTEST_SKIP() << "no protobuf";
    const std::string first = dir_ / "pairs-000000.tar";
    fs::create_directory(dir_ / "pairs");
    write_file(dir_ / "pairs/x.jpg", "an image");
    write_file(dir_ / "pairs/x.json", "{\"a\":1}");
    write_file(dir_ / "pairs/x.cls", "5");
    ASSERT_EQ(std::system(("tar -cf " + first + " -C " + dir_ / "pairs" + " x.jpg x.json x.cls").c_str()), 0);
    pack_directory(first, dir_ / "tfrecord", "tfrecord");
    pack_directory(dir_ / "tfrecord", dir_ / "back", "webdataset");
    const ReadSample sample = read_all(dir_ / "back").at(0);
    EXPECT_EQ(sample.content, "an image");
    EXPECT_EQ(sample.parts.at("json"), "{\"a\":1}");
    EXPECT_EQ(sample.label, Label(std::int64_t{5}));
    pack_directory(first, dir_ / "image", "webdataset", {.parts = {"jpg"}});
    EXPECT_FALSE(read_all(dir_ / "image").at(0).parts.contains("json"));
    std::string said;
    EXPECT_EQ(kind_of([&] { pack_directory(first, dir_ / "png", "webdataset", {.parts = {"png"}}); }, &said),
              ErrorKind::usage);
    EXPECT_THAT(said, HasSubstr("png"));
}

TEST_F(Packing, ToldToStopItSaysSoAndKeepsWhatIsWhole) {
    Interrupt interrupt;
    PackOptions options{.destination = dir_ / "packed", .shards = 3, .threads = 1, .rate_bytes_per_second = 100};
    const auto stop = [&](const PackProgress& /*progress*/) { interrupt.request(); };
    EXPECT_EQ(
        kind_of([&] { pack(open_dataset(source_, "auto", {}), find_packer("tfrecord"), options, stop, interrupt); }),
        ErrorKind::interrupted);
    EXPECT_FALSE(fs::exists(dir_ / "packed"));
}

}  // namespace
}  // namespace feedline::test
