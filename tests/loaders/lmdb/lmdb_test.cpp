// Files that liblmdb wrote, read without it.
#include "loaders/lmdb/lmdb_format.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lmdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <random>

#include "core/error.h"
#include "loaders/lmdb/datum.h"
#include "tests/loaders/lmdb/lmdb_writer.h"
#include "tests/testutil/memory_directory.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;
using test::write_lmdb;
using testing::HasSubstr;
using Entries = std::vector<std::pair<std::string, std::string>>;

class LmdbTest : public testing::Test {
protected:
    std::unique_ptr<Dataset> open(const std::string& path) { return LmdbFormat().open(path, {}); }

    // Every sample by its key, as its extent in the file says.
    static std::map<std::string, std::string> contents(const Dataset& dataset) {
        std::map<std::string, std::string> found;
        std::map<ShardId, std::string> files;
        for (SampleId id = 0; id < dataset.size(); ++id) {
            Extent extent;
            dataset.locate(std::span(&id, 1), std::span(&extent, 1));
            std::string& file = files[extent.shard];
            if (file.empty()) file = test::read_file(dataset.path(extent.shard));
            found[dataset.key(id)] = file.substr(extent.offset_bytes, extent.length_bytes);
        }
        return found;
    }

    std::string refusal(const std::string& path, ErrorKind kind) {
        try {
            open(path);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), kind) << error.what();
            return error.what();
        }
        ADD_FAILURE() << "nothing was thrown";
        return "";
    }

    test::TempDir directory_;
    std::string path_ = directory_ / "set.lmdb";
};

TEST_F(LmdbTest, ValuesOfAllSizesAreFoundInTheOrderOfKeys) {
    Entries entries;
    const std::vector<std::size_t> sizes = {0,    1,    511,  512,  513,  1900, 2000,   2100,
                                            4079, 4080, 4081, 4095, 4096, 4097, 100'000};
    for (std::size_t i = 0; i < 3000; ++i) {
        entries.emplace_back(fmt::format("{:08}_{}", (i * 7919) % 3000, i), test::pattern(sizes[i % sizes.size()], 1));
    }
    for (const bool directory : {true, false}) {
        const std::string path = directory ? path_ : directory_ / "single";
        write_lmdb(path, entries, {.directory = directory, .per_commit = 700});
        EXPECT_EQ(LmdbFormat().probe(path), Confidence::yes);
        const auto dataset = open(path);
        const std::map<std::string, std::string> expected(entries.begin(), entries.end());
        EXPECT_TRUE(contents(*dataset) == expected);
        std::string last;
        for (SampleId id = 0; id < dataset->size(); ++id) {
            EXPECT_LT(last, dataset->key(id));
            last = dataset->key(id);
        }
    }
}

TEST_F(LmdbTest, WhatWasDeletedAndWrittenOverIsNotFound) {
    Entries entries;
    for (int i = 0; i < 500; ++i) entries.emplace_back(fmt::format("k{}", i), test::pattern(3000, 1));
    write_lmdb(path_, entries);
    std::vector<std::string> gone;
    for (int i = 0; i < 500; i += 3) gone.push_back(fmt::format("k{}", i));
    test::erase_from_lmdb(path_, gone);
    write_lmdb(path_, {{"k1", "new"}, {"added", test::pattern(9000, 2)}});
    std::map<std::string, std::string> expected(entries.begin(), entries.end());
    for (const std::string& key : gone) expected.erase(key);
    expected["k1"] = "new";
    expected["added"] = test::pattern(9000, 2);
    EXPECT_TRUE(contents(*open(path_)) == expected);
}

TEST_F(LmdbTest, ReadingLeavesNoTrace) {
    write_lmdb(path_, {{"a", "1"}});
    fs::remove(path_ + "/lock.mdb");
    const auto before = fs::last_write_time(path_ + "/data.mdb");
    open(path_);
    EXPECT_FALSE(fs::exists(path_ + "/lock.mdb"));
    EXPECT_EQ(fs::last_write_time(path_ + "/data.mdb"), before);
}

// Through the library, in the dataset's order.
std::map<std::string, std::string> contents_by_library(const Dataset& dataset) {
    std::map<std::string, std::string> found;
    const std::unique_ptr<NativeReader> reader = dataset.native_reader();
    for (SampleId id = 0; id < dataset.size(); ++id) {
        Extent extent;
        dataset.locate(std::span(&id, 1), std::span(&extent, 1));
        std::string& value = found[dataset.key(id)];
        value.resize(extent.length_bytes);
        EXPECT_EQ(reader->read(id, extent, std::as_writable_bytes(std::span(value))),
                  static_cast<std::int64_t>(value.size()));
    }
    return found;
}

TEST_F(LmdbTest, TheLibraryGivesWhatTheExtentsGive) {
    Entries entries;
    for (std::size_t i = 0; i < 300; ++i)
        entries.emplace_back(fmt::format("k{}", i), test::pattern(i % 7 == 0 ? 9000U : i, 1));
    for (const bool directory : {true, false}) {
        const std::string path = directory ? path_ : directory_ / "single";
        const std::string lock = directory ? path + "/lock.mdb" : path + "-lock";
        write_lmdb(path, entries, {.directory = directory});
        const auto dataset = open(path);
        EXPECT_TRUE(contents_by_library(*dataset) == contents(*dataset));
        // Where there are no locks none are made.
        fs::remove(lock);
        EXPECT_TRUE(contents_by_library(*dataset) == contents(*dataset));
        EXPECT_FALSE(fs::exists(lock));
    }
}

TEST_F(LmdbTest, AValueThatIsNotWhatItWasIsCorruptToTheLibrary) {
    write_lmdb(path_, {{"a", "1"}, {"b", "2"}, {"c", "3"}});
    const auto dataset = open(path_);
    test::erase_from_lmdb(path_, {"a"});
    write_lmdb(path_, {{"b", "longer"}});
    const std::unique_ptr<NativeReader> reader = dataset->native_reader();
    std::array<std::byte, 1> byte{};
    for (const SampleId id : {0U, 1U}) {
        EXPECT_EQ(reader->read(id, {0, 1, 0}, byte), -EBADMSG);
        EXPECT_NE(reader->problem(), "");
    }
    EXPECT_EQ(reader->read(2, {0, 1, 0}, byte), 1);
    EXPECT_EQ(reader->problem(), "");
}

TEST_F(LmdbTest, OcrSetsAreImagesOnly) {
    write_lmdb(path_, {{"image-000000001", "I1"},
                       {"image-000000002", "I2"},
                       {"label-000000001", "eins"},
                       {"label-000000002", "zwei"},
                       {"num-samples", "2"}});
    const std::map<std::string, std::string> expected = {{"image-000000001", "I1"}, {"image-000000002", "I2"}};
    EXPECT_EQ(contents(*open(path_)), expected);
}

TEST_F(LmdbTest, OcrLabelsAreTheTextsOfTheirNumbers) {
    const std::string long_text = test::pattern(5000, 3);
    write_lmdb(path_ + "/0", {{"a", "no OCR set"}});
    write_lmdb(path_ + "/1", {{"image-000000001", "I1"},
                              {"image-000000003", "I3"},
                              {"image-000000004", "I4"},
                              {"label-000000002", "of none"},
                              {"label-000000003", "drei"},
                              {"label-000000004", long_text},
                              {"num-samples", "3"}});
    const auto dataset = open(path_);
    ASSERT_EQ(dataset->size(), 4U);
    EXPECT_EQ(dataset->views(0, {}).label, Label());
    EXPECT_EQ(dataset->views(1, {}).label, Label());
    EXPECT_EQ(dataset->views(2, {}).label, Label("drei"));
    EXPECT_EQ(dataset->views(3, {}).label, Label(long_text));
}

TEST_F(LmdbTest, CaffesKeysHoldThePathAndItsDatumTheLabel) {
    const std::string datum = std::string("\x08\x03\x22\x04JPEG\x28\x07\x38\x01", 12);
    write_lmdb(path_, {{"00000000_cat/1.jpg", datum}, {"123_x.png", "raw"}});
    const auto dataset = open(path_);
    const std::span<const std::byte> record = std::as_bytes(std::span(datum));
    const SampleViews found = dataset->views(0, record);
    EXPECT_EQ(found.original_path, "cat/1.jpg");
    ASSERT_EQ(found.parts.size(), 1U);
    EXPECT_EQ(found.parts[0].name, "jpg");
    EXPECT_EQ(found.parts[0].bytes.data(), dataset->payload(0, record).data());
    if (lmdb::parse_datum(record)) {
        EXPECT_EQ(found.label, Label(std::int64_t{7}));
    }
    EXPECT_EQ(dataset->views(1, record).original_path, "");
}

// As Python's pickle.dumps writes them.
TEST_F(LmdbTest, PicklesOfBytesAndLabelAreReadWhereFolder2lmdbWroteThem) {
    using namespace std::string_literals;
    const std::string large(70'000, 'x');  // outside of protocol 4's frames
    struct Case {
        std::string value;
        std::string payload;
        Label label;
    };
    const std::vector<Case> cases = {
        {"\x80\x03\x43\x04JPEGq\x00K\x07\x86q\x01."s, "JPEG", std::int64_t{7}},
        {"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x43\x04JPEG\x94K\x07\x86\x94."s, "JPEG", std::int64_t{7}},
        {"\x80\x05\x95\x10\x00\x00\x00\x00\x00\x00\x00\x43\x04JPEG\x94\x8c\x03\x63\x61t\x94\x86\x94."s, "JPEG", "cat"s},
        {"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x43\x04JPEG\x94N\x86\x94."s, "JPEG", {}},
        {"\x80\x04\x42\x70\x11\x01\x00"s + large + "\x95\x07\x00\x00\x00\x00\x00\x00\x00\x94M\x02\x01\x86\x94."s, large,
         std::int64_t{258}},
        // No pair of bytes and label, cut off, protocol 2's text for bytes: the value as it is.
        {"\x80\x04K\x07."s, "\x80\x04K\x07."s, {}},
        {"\x80\x04\x43\x04JPEG\x94K\x07"s, "\x80\x04\x43\x04JPEG\x94K\x07"s, {}},
        {"\x80\x04\x42\xff\xff\xff\xffJPEG"s, "\x80\x04\x42\xff\xff\xff\xffJPEG"s, {}},
        {"\x80"s, "\x80"s, {}},
        {"\xff\xd8 a JPEG", "\xff\xd8 a JPEG", {}},
    };
    std::vector<std::pair<std::string, std::string>> entries = {{"__keys__", "k"}, {"__len__", "n"}};
    for (std::size_t i = 0; i < cases.size(); ++i) entries.emplace_back(std::to_string(i), cases[i].value);
    write_lmdb(path_, entries);
    const auto dataset = open(path_);
    ASSERT_EQ(dataset->size(), cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::span<const std::byte> record = std::as_bytes(std::span(cases[i].value));
        const SampleViews found = dataset->views(i, record);
        ASSERT_EQ(found.parts.size(), 1U);
        const std::span<const std::byte> payload = dataset->payload(i, record);
        EXPECT_TRUE(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()) == cases[i].payload)
            << i;
        EXPECT_EQ(found.parts[0].bytes.data(), payload.data());
        EXPECT_EQ(found.label, cases[i].label) << i;
    }
}

TEST_F(LmdbTest, KeysAboutTheDatasetAreNoSamples) {
    write_lmdb(path_, {{"0", "a"}, {"1", "b"}, {"__keys__", "k"}, {"__len__", "2"}});
    EXPECT_EQ(open(path_)->size(), 2U);
    test::TempDir other;
    write_lmdb(other / "x", {{"total", "0"}});
    EXPECT_THAT(refusal(other / "x", ErrorKind::usage), HasSubstr("no samples"));
    write_lmdb(other / "y", {});
    EXPECT_THAT(refusal(other / "y", ErrorKind::usage), HasSubstr("no samples"));
}

TEST_F(LmdbTest, DirectoriesOfADirectoryAreShards) {
    write_lmdb(path_ + "/n-00001.lmdb", {{"c", "3"}});
    write_lmdb(path_ + "/n-00000.lmdb", {{"a", "1"}, {"b", "2"}});
    EXPECT_EQ(LmdbFormat().probe(path_), Confidence::yes);
    const auto dataset = open(path_);
    EXPECT_EQ(dataset->info().shards, 2U);
    EXPECT_EQ(dataset->key(2), "c");
    EXPECT_THAT(dataset->path(0), HasSubstr("n-00000.lmdb/data.mdb"));
}

TEST_F(LmdbTest, OtherKindsOfDatabasesAreRefusedByName) {
    write_lmdb(directory_ / "dup", {{"a", "1"}, {"a", "2"}}, {.database_flags = MDB_DUPSORT});
    EXPECT_THAT(refusal(directory_ / "dup", ErrorKind::usage), HasSubstr("several values"));
    write_lmdb(directory_ / "named", {{"a", "1"}}, {.database = "inner"});
    EXPECT_THAT(refusal(directory_ / "named", ErrorKind::usage), HasSubstr("named databases"));
}

TEST_F(LmdbTest, FilesOfOtherMachinesAreRefusedByName) {
    std::string big(8192, '\0');
    big.replace(16, 4, "\xbe\xef\xc0\xde");
    test::write_file(directory_ / "big", big);
    EXPECT_THAT(refusal(directory_ / "big", ErrorKind::usage), HasSubstr("big-endian"));
    std::string small(8192, '\0');
    small.replace(12, 4, "\xde\xc0\xef\xbe");
    test::write_file(directory_ / "small", small);
    EXPECT_THAT(refusal(directory_ / "small", ErrorKind::usage), HasSubstr("32-bit"));
}

TEST_F(LmdbTest, ATruncatedFileIsSaidToBe) {
    Entries entries;
    for (int i = 0; i < 50; ++i) entries.emplace_back(fmt::format("k{}", i), test::pattern(5000, 1));
    write_lmdb(path_, entries);
    const std::string file = path_ + "/data.mdb";
    const std::string whole = test::read_file(file);
    for (std::size_t size = 152; size < whole.size(); size += size < 9000 ? 499 : 4096) {
        test::write_file(directory_ / "cut", whole.substr(0, size));
        refusal(directory_ / "cut", ErrorKind::corrupt);
    }
}

// Changed anywhere: samples or an error, never a crash, an endless walk or an extent beyond the file.
// The library takes the size of pages from the first meta page, though the second is the newer.
TEST_F(LmdbTest, AFirstMetaPageWithoutSenseIsRefused) {
    write_lmdb(path_, {{"a", "1"}});
    write_lmdb(path_, {{"b", "2"}});
    std::string bytes = test::read_file(path_ + "/data.mdb");
    for (std::size_t i = 40; i < 44; ++i) bytes.at(i) = 0;
    test::write_file(path_ + "/data.mdb", bytes);
    EXPECT_THAT(refusal(path_, ErrorKind::corrupt), HasSubstr("first meta page"));
}

TEST_F(LmdbTest, DamagedFilesAreHarmless) {
    Entries entries;
    for (int i = 0; i < 400; ++i)
        entries.emplace_back(fmt::format("key{:05}", i), test::pattern(i % 5 == 0 ? 5000 : 30, 1));
    write_lmdb(path_, entries);
    const std::string whole = test::read_file(path_ + "/data.mdb");
    const test::TempDir memory(test::memory_directory());
    std::mt19937_64 random(3);
    for (int round = 0; round < 3000; ++round) {
        std::string broken = whole;
        // Headers and pointer lists are where the structure is.
        const std::size_t page = random() % (whole.size() / 4096);
        for (int change = 0; change < 3; ++change) broken[page * 4096 + random() % 160] = static_cast<char>(random());
        test::write_file(memory / "broken", broken);
        try {
            const auto dataset = open(memory / "broken");
            for (SampleId id = 0; id < dataset->size(); ++id) {
                Extent extent;
                dataset->locate(std::span(&id, 1), std::span(&extent, 1));
                ASSERT_LE(extent.offset_bytes + extent.length_bytes, whole.size());
            }
        } catch (const Error& error) {
            EXPECT_TRUE(error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::usage) << error.what();
        }
    }
}

TEST_F(LmdbTest, ADatumsPayloadIsItsData) {
    // channels 3, height 1, width 1, data "JPEG", label 7, encoded true
    const std::string datum = std::string("\x08\x03\x10\x01\x18\x01\x22\x04JPEG\x28\x07\x38\x01", 16);
    const auto parsed = lmdb::parse_datum(std::as_bytes(std::span(datum)));
    if (!parsed) GTEST_SKIP() << "built without protobuf";
    EXPECT_EQ(parsed->label, 7);
    EXPECT_TRUE(parsed->encoded);
    EXPECT_EQ(parsed->data.size(), 4U);
    for (const std::string& other :
         {std::string("\xff\xd8\xff\xe0 a JPEG"), std::string("\x89PNG\r\n"), std::string()}) {
        EXPECT_FALSE(lmdb::parse_datum(std::as_bytes(std::span(other))));
    }
}

}  // namespace
}  // namespace feedline
