// Files that libhdf5 wrote, read where they lie and by the library: both must agree with what was written.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <span>

#include "core/error.h"
#include "core/fd.h"
#include "loaders/hdf5/hdf5_format.h"
#include "tests/loaders/hdf5/hdf5_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;
using test::Hdf5Storage;
using test::Hdf5Writer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string join(const std::vector<std::string>& parts) {
    std::string all;
    for (const std::string& part : parts) all += part;
    return all;
}

std::vector<std::string> rows_of(std::size_t count, std::size_t bytes) {
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back(test::pattern(bytes, static_cast<unsigned>(i + 1)));
    return rows;
}

Extent extent_of(const Dataset& dataset, SampleId id) {
    Extent extent;
    dataset.locate(std::span(&id, 1), std::span(&extent, 1));
    return extent;
}

// Every sample as its extent in the file says.
std::vector<std::string> by_extents(const Dataset& dataset) {
    std::vector<std::string> samples;
    std::map<ShardId, std::string> files;
    for (SampleId id = 0; id < dataset.size(); ++id) {
        const Extent extent = extent_of(dataset, id);
        std::string& file = files[extent.shard];
        if (file.empty()) file = test::read_file(dataset.path(extent.shard));
        EXPECT_LE(extent.offset_bytes + extent.length_bytes, file.size());
        samples.push_back(file.substr(extent.offset_bytes, extent.length_bytes));
    }
    return samples;
}

// Every sample as the library reads it; what cannot be read is an error number.
std::vector<std::string> by_library(const Dataset& dataset) {
    std::vector<std::string> samples;
    const auto reader = dataset.native_reader();
    for (SampleId id = 0; id < dataset.size(); ++id) {
        const Extent extent = extent_of(dataset, id);
        std::string record(extent.length_bytes, '?');
        const std::int64_t got = reader->read(id, extent, std::as_writable_bytes(std::span(record)));
        samples.push_back(
            got == static_cast<std::int64_t>(record.size()) ? record : fmt::format("{} {}", got, reader->problem()));
    }
    return samples;
}

class Hdf5Test : public testing::Test {
protected:
    std::unique_ptr<Dataset> open(const std::string& dataset = {}, bool skip_corrupt = false) {
        return Hdf5Format().open(path_, {.skip_corrupt = skip_corrupt, .hdf5_dataset = dataset});
    }

    std::string refusal(ErrorKind kind, const std::string& dataset = {}) {
        try {
            open(dataset);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), kind) << error.what();
            EXPECT_FALSE(error.path().empty()) << error.what();
            return error.what();
        }
        ADD_FAILURE() << "nothing was thrown";
        return "";
    }

    test::TempDir directory_;
    std::string path_ = directory_ / "set.h5";
};

// How images may lie in a file, and whether that is in plain.
struct Case {
    std::string name;
    Hdf5Storage storage;
    bool plain;
    std::uint64_t userblock_bytes = 0;
    H5F_libver_t version = H5F_LIBVER_EARLIEST;
};

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const std::uint64_t userblock : {0U, 512U, 4096U}) {
        for (const H5F_libver_t version : {H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST}) {
            const std::string suffix =
                fmt::format("_userblock{}{}", userblock, version == H5F_LIBVER_EARLIEST ? "" : "_latest");
            all.push_back({"contiguous" + suffix, {}, true, userblock, version});
            all.push_back({"rows_a_chunk" + suffix, {.chunk = {4, 5, 3}}, true, userblock, version});
        }
    }
    all.push_back({"one_row_a_chunk", {.chunk = {1, 5, 3}}, true});
    all.push_back({"one_chunk_for_all", {.chunk = {10, 5, 3}}, true});
    all.push_back({"gzip", {.chunk = {4, 5, 3}, .gzip = true}, false, 512});
    all.push_back({"fletcher32", {.chunk = {4, 5, 3}, .fletcher32 = true}, false});
    all.push_back({"cut_by_chunks", {.chunk = {4, 2, 3}}, false});
    all.push_back({"cut_by_gzip_chunks", {.chunk = {1, 2, 2}, .gzip = true}, false});
    all.push_back({"compact", {.chunk = {}, .compact = true}, false});
    return all;
}

class Hdf5Images : public Hdf5Test, public testing::WithParamInterface<Case> {};

TEST_P(Hdf5Images, AreReadByTheirExtentsWhereThoseAreAndByTheLibraryAnyway) {
    const std::vector<std::string> rows = rows_of(10, 15);
    {
        Hdf5Writer file(path_, GetParam().userblock_bytes, GetParam().version);
        file.write("images", {10, 5, 3}, join(rows), GetParam().storage);
        file.write_integers("labels", {0, 1, 2, 0, 1, 2, 0, 1, 2, 7});
        file.attribute("labels", "class_names", {"cat", "dog", "eel"});
    }
    EXPECT_EQ(Hdf5Format().probe(path_), Confidence::yes);
    const auto dataset = open();
    ASSERT_EQ(dataset->size(), 10U);
    EXPECT_EQ(dataset->has_extents(), GetParam().plain);
    if (GetParam().plain) {
        EXPECT_EQ(by_extents(*dataset), rows);
    }
    EXPECT_EQ(by_library(*dataset), rows);
    EXPECT_THAT(dataset->info().layout, HasSubstr("images uint8 [5,3] with labels"));
    EXPECT_EQ(dataset->label(9), 7);
    const SampleViews views = dataset->views(4, std::as_bytes(std::span(rows[4])));
    EXPECT_EQ(views.label, Label(std::int64_t{1}));
    EXPECT_EQ(views.class_name, "dog");
    ASSERT_EQ(dataset->info().classes.size(), 4U);
    EXPECT_EQ(dataset->info().classes[0].name, "cat");
    EXPECT_EQ(dataset->info().classes[0].samples, 3U);
    EXPECT_EQ(dataset->info().classes[3].name, "7");
}

INSTANTIATE_TEST_SUITE_P(Storage, Hdf5Images, testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(Hdf5Test, ThePackedLayoutIsReadByItsOffsets) {
    std::vector<std::string> payloads;
    for (const std::size_t bytes : {0U, 1U, 511U, 512U, 513U, 4095U, 4096U, 4097U, 0U}) {
        payloads.push_back(test::pattern(bytes, 1));
    }
    for (const bool gzip : {false, true}) {
        test::write_packed_hdf5(path_, payloads, gzip ? Hdf5Storage{.chunk = {1000}, .gzip = true} : Hdf5Storage{});
        const auto dataset = open();
        EXPECT_EQ(dataset->has_extents(), !gzip);
        if (!gzip) {
            EXPECT_EQ(by_extents(*dataset), payloads);
        }
        EXPECT_EQ(by_library(*dataset), payloads);
        EXPECT_EQ(dataset->key(3), "c3/3.bin");
        EXPECT_EQ(dataset->label(8), 8);
        const SampleViews views = dataset->views(3, {});
        EXPECT_EQ(views.original_path, "c3/3.bin");
        EXPECT_EQ(views.parts.at(0).name, "bin");
        EXPECT_THAT(dataset->info().layout, HasSubstr("data by offsets with labels"));
        EXPECT_TRUE(dataset->info().oddities.empty());
    }
}

TEST_F(Hdf5Test, KeysAreTextsOrBytesWithOffsets) {
    for (const bool bytes : {false, true}) {
        {
            Hdf5Writer file(path_);
            file.write("data", {2}, "ab");
            file.write_integers("offsets", {0, 1, 2});
            if (bytes) {
                file.write("keys", {6}, "x/\xff\x01yz");
                file.write_integers("key_offsets", {0, 4, 6});
            } else {
                file.write_variable("keys", {"x/\xff\x01", "yz"}, true);
            }
        }
        const auto dataset = open();
        EXPECT_EQ(dataset->key(0), "x/\xff\x01");
        EXPECT_EQ(dataset->key(1), "yz");
        EXPECT_EQ(dataset->label(0), std::nullopt);
    }
}

TEST_F(Hdf5Test, DamagedListsOfThePackedLayoutAreNamed) {
    const auto with = [&](const std::vector<std::int64_t>& offsets, const std::vector<std::int64_t>& labels,
                          const std::vector<std::string>& keys) {
        Hdf5Writer file(path_);
        file.write("data", {10}, "0123456789");
        file.write_integers("offsets", offsets);
        file.write_integers("labels", labels);
        file.write_texts("keys", keys);
    };
    with({0, 5, 10}, {1, 2}, {"a", "b"});
    EXPECT_EQ(open()->size(), 2U);
    with({0, 5, 11}, {1, 2}, {"a", "b"});
    EXPECT_THAT(refusal(ErrorKind::corrupt), HasSubstr("reaches to byte 11 of 10"));
    with({0, 5, 4}, {1, 2}, {"a", "b"});
    EXPECT_THAT(refusal(ErrorKind::corrupt), HasSubstr("does not ascend"));
    with({-1, 5, 6}, {1, 2}, {"a", "b"});
    EXPECT_THAT(refusal(ErrorKind::corrupt), HasSubstr("does not ascend"));
    with({}, {}, {"a"});
    EXPECT_THAT(refusal(ErrorKind::corrupt), HasSubstr("no offsets"));
    with({0, 5, 10}, {1, 2, 3}, {"a", "b"});
    EXPECT_THAT(refusal(ErrorKind::corrupt), HasSubstr("/labels has 3 rows, for 2 samples"));
    with({0, 5, 10}, {1, 2}, {"a"});
    EXPECT_THAT(refusal(ErrorKind::corrupt), HasSubstr("1 key for 2 samples"));
    with({3}, {}, {});
    EXPECT_THAT(refusal(ErrorKind::usage), HasSubstr("no samples"));
}

TEST_F(Hdf5Test, ElementsOfVariableLengthAreReadByTheLibrary) {
    std::vector<std::string> rows = rows_of(70, 40);
    rows[0] = "";
    rows[1] = test::pattern(100'000, 3);
    for (const bool text : {false, true}) {
        if (text)
            std::transform(rows.begin(), rows.end(), rows.begin(),
                           [](const std::string& row) { return row.substr(0, row.find('\0')); });
        for (const Hdf5Storage& storage :
             {Hdf5Storage{}, Hdf5Storage{.chunk = {16}}, Hdf5Storage{.chunk = {16}, .gzip = true}}) {
            {
                Hdf5Writer file(path_);
                file.write_variable("pictures", rows, text, storage);
            }
            const auto dataset = open();
            EXPECT_FALSE(dataset->has_extents());
            EXPECT_EQ(by_library(*dataset), rows);
        }
    }
}

// libhdf5 1.10 would be asked where they lie for minutes.
TEST_F(Hdf5Test, ChunksBeyondCountingAreLeftToTheLibrary) {
    const std::string rows = test::pattern(17'000, 1);
    {
        Hdf5Writer file(path_);
        file.write("x", {rows.size()}, rows, {.chunk = {1}});
    }
    const auto dataset = open();
    EXPECT_FALSE(dataset->has_extents());
    EXPECT_THAT(dataset->info().layout, HasSubstr("chunks"));
    EXPECT_EQ(join(by_library(*dataset)), rows);
}

TEST_F(Hdf5Test, WhatWasNeverWrittenIsTheFillValue) {
    {
        Hdf5Writer file(path_);
        file.write("late", {3, 4}, "");
        file.write("chunks", {3, 4}, "", {.chunk = {1, 4}});
        file.write_chunk("chunks", {1, 0}, 0, "abcd");
    }
    const std::string zeros(4, '\0');
    EXPECT_FALSE(open("late")->has_extents());
    EXPECT_THAT(by_library(*open("late")), ElementsAre(zeros, zeros, zeros));
    EXPECT_FALSE(open("/chunks")->has_extents());
    EXPECT_THAT(by_library(*open("chunks")), ElementsAre(zeros, "abcd", zeros));
}

TEST_F(Hdf5Test, NumbersOfOtherMachinesAreTurnedAround) {
    {
        Hdf5Writer file(path_);
        file.write("x", H5T_STD_I32BE, {2, 1}, std::string("\0\0\0\1\0\0\1\0", 8));
    }
    const auto dataset = open();
    EXPECT_FALSE(dataset->has_extents());
    EXPECT_THAT(dataset->info().layout, HasSubstr("big-endian"));
    EXPECT_THAT(by_library(*dataset), ElementsAre(std::string("\1\0\0\0", 4), std::string("\0\1\0\0", 4)));
}

// A chunk may say that a filter was left out for it.
TEST_F(Hdf5Test, ChunksWhoseFiltersWereSkippedLieInPlain) {
    for (const std::uint32_t second : {1U, 0U}) {
        {
            Hdf5Writer file(path_);
            file.write("x", {2, 4}, "", {.chunk = {1, 4}, .gzip = true});
            file.write_chunk("x", {0, 0}, 1, "abcd");
            // zlib's own: "efgh" stored.
            const std::string stored(
                "\x78\x01\x01\x04\x00\xfb\xff"
                "efgh"
                "\x04\x00\x01\x9b",
                15);
            file.write_chunk("x", {1, 0}, second, second == 1 ? "efgh" : stored);
        }
        const auto dataset = open();
        EXPECT_EQ(dataset->has_extents(), second == 1);
        if (second == 1) {
            EXPECT_THAT(by_extents(*dataset), ElementsAre("abcd", "efgh"));
        }
        EXPECT_THAT(by_library(*dataset), ElementsAre("abcd", "efgh"));
    }
}

TEST_F(Hdf5Test, AMissingFilterIsNamedUnlessItWasNeverApplied) {
    for (const std::uint32_t skipped : {1U, 0U}) {
        {
            Hdf5Writer file(path_);
            file.write("x", {1, 4}, "", {.chunk = {1, 4}, .optional_filter = 32999});
            file.write_chunk("x", {0, 0}, skipped, "abcd");
        }
        if (skipped == 1) {
            EXPECT_THAT(by_extents(*open()), ElementsAre("abcd"));
        } else {
            const std::string said = refusal(ErrorKind::usage);
            EXPECT_THAT(said, HasSubstr("(32999), which libhdf5 does not have"));
            EXPECT_THAT(said, Not(HasSubstr("Debian")));
        }
    }
    if (H5Zfilter_avail(32000) > 0) GTEST_SKIP() << "the lzf plugin is installed";
    {
        Hdf5Writer file(path_);
        file.write("x", {1, 4}, "", {.chunk = {1, 4}, .optional_filter = 32000});
        file.write_chunk("x", {0, 0}, 0, "abcd");
    }
    EXPECT_THAT(refusal(ErrorKind::usage), HasSubstr("(Debian: hdf5-plugin-lzf)"));
}

TEST_F(Hdf5Test, DlioRecordsMayBeSpreadOverDatasets) {
    {
        Hdf5Writer file(path_);
        file.write("records_1", {2, 3}, "abcdef");
        file.write("records_0", {2, 2}, "0123");
        file.write_integers("labels", {4, 5});
    }
    const auto dataset = open();
    EXPECT_FALSE(dataset->has_extents());
    EXPECT_THAT(by_library(*dataset), ElementsAre("01abc", "23def"));
    const std::string record = "23def";
    const SampleViews views = dataset->views(1, std::as_bytes(std::span(record)));
    ASSERT_EQ(views.parts.size(), 2U);
    EXPECT_EQ(views.parts[1].name, "records_1");
    EXPECT_EQ(views.parts[1].bytes.size(), 3U);
    EXPECT_EQ(views.label, Label(std::int64_t{5}));
    {
        Hdf5Writer file(path_);
        file.write("records", {2, 3}, "abcdef");
        file.write("statistics", {2, 2}, "0123");
    }
    EXPECT_THAT(by_extents(*open()), ElementsAre("abc", "def"));
}

TEST_F(Hdf5Test, TheUserChoosesWhereNothingElseDoes) {
    {
        Hdf5Writer file(path_);
        file.write("train/x", {2, 3}, "abcdef");
        file.write_integers("train/label", {4, 5});
        file.write("test/x", {1, 3}, "xyz");
        H5Lcreate_external("other.h5", "/x", file.id(), "outside", H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_soft("/test/x", file.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    }
    const std::string which = refusal(ErrorKind::usage);
    EXPECT_THAT(which, HasSubstr("--hdf5-dataset: /test/x uint8 [1,3] contiguous; /train/x uint8 [2,3] contiguous"));
    EXPECT_THAT(which, Not(HasSubstr("label")));
    EXPECT_THAT(by_extents(*open("train/x")), ElementsAre("abc", "def"));
    EXPECT_EQ(open("train/x")->label(1), 5);
    EXPECT_EQ(open("/test/x")->label(0), std::nullopt);
    EXPECT_THAT(refusal(ErrorKind::usage, "valid/x"), HasSubstr("no dataset /valid/x"));
    EXPECT_THAT(refusal(ErrorKind::usage, "outside"), HasSubstr("link to another file"));
    EXPECT_THAT(refusal(ErrorKind::usage, "soft"), HasSubstr("symbolic link"));
}

TEST_F(Hdf5Test, LabelsMayBeFractionsInNameSeveralOrUnfit) {
    {
        Hdf5Writer file(path_);
        file.write("data", {2, 3}, "abcdef");
        const std::array<float, 2> labels = {3.0F, 9.0F};
        file.write("label", H5T_NATIVE_FLOAT, {2, 1}, {reinterpret_cast<const char*>(labels.data()), sizeof labels});
    }
    EXPECT_EQ(open()->label(1), 9);
    {
        Hdf5Writer file(path_);
        file.write("data", {2, 3}, "abcdef");
        file.write("labels", {2, 2}, "\1\2\3\4");
    }
    EXPECT_EQ(open()->label(1), std::nullopt);
    EXPECT_EQ(open()->views(1, {}).label, Label(std::vector<std::int64_t>{3, 4}));
    {
        Hdf5Writer file(path_);
        file.write("data", {2, 3}, "abcdef");
        file.write_integers("labels", {1, 2, 3});
    }
    EXPECT_EQ(open()->label(1), std::nullopt);
    EXPECT_THAT(open()->info().oddities.at(0).kind, HasSubstr("does not fit"));
}

TEST_F(Hdf5Test, LabelsMayBeNamedAfterTheirSamplesAndAreMissedWhereTheyCannotBeRead) {
    for (const auto& [samples, labels] : std::vector<std::pair<std::string, std::string>>{
             {"x_train", "y_train"}, {"X_train", "y_train"}, {"train_images", "train_labels"}, {"x", "y"}}) {
        {
            Hdf5Writer file(path_);
            file.write(samples, {2, 3}, "abcdef");
            file.write(labels, {2}, "\1\2");
            file.write("other_labels", {3}, "\1\2\3");
        }
        EXPECT_EQ(open(samples)->label(1), 2) << samples;
        {
            Hdf5Writer file(path_);
            file.write(samples, {2, 3}, "abcdef");
            file.write(labels, {1}, "\1");
        }
        const auto unlabelled = open(samples);
        EXPECT_EQ(unlabelled->label(1), std::nullopt);
        const auto& oddities = unlabelled->info().oddities;
        const auto said = std::find_if(oddities.begin(), oddities.end(), [](const Oddity& oddity) {
            return oddity.kind.find("looks like labels") != std::string::npos;
        });
        ASSERT_NE(said, oddities.end());
        EXPECT_THAT(said->example, HasSubstr("/" + labels + " "));
    }
}

TEST_F(Hdf5Test, WhatCannotBeReadIsRefusedByName) {
    const auto refused = [&](const auto& fill) {
        {
            Hdf5Writer file(path_, 0, H5F_LIBVER_LATEST);
            fill(file);
        }
        return refusal(ErrorKind::usage);
    };
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(pair, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(pair, "i", 4, H5T_NATIVE_FLOAT);
    EXPECT_THAT(refused([&](Hdf5Writer& file) { file.write("x", pair, {1}, std::string(8, 'x')); }),
                HasSubstr("of type compound"));
    H5Tclose(pair);
    EXPECT_THAT(refused([](Hdf5Writer& file) { file.write("x", H5T_STD_REF_OBJ, {1}, ""); }),
                HasSubstr("of type reference"));
    EXPECT_THAT(refused([](Hdf5Writer&) {}), HasSubstr("no dataset in this HDF5 file"));
    EXPECT_THAT(refused([](Hdf5Writer& file) { file.write("x", {0, 3}, ""); }), HasSubstr("no samples"));
    EXPECT_THAT(refused([](Hdf5Writer& file) { file.write("x", {}, "1"); }), HasSubstr("no dataset with samples"));
    EXPECT_THAT(refused([](Hdf5Writer& file) {
                    const std::array<hsize_t, 2> dims = {4, 2};
                    const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
                    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                    H5Pset_external(properties, "elsewhere.bin", 0, 8);
                    H5Dclose(H5Dcreate2(file.id(), "x", H5T_NATIVE_UINT8, space, H5P_DEFAULT, properties, H5P_DEFAULT));
                    H5Pclose(properties);
                    H5Sclose(space);
                }),
                HasSubstr("external files"));
    EXPECT_THAT(refused([](Hdf5Writer& file) {
                    const std::array<hsize_t, 2> dims = {4, 2};
                    const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
                    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                    H5Pset_virtual(properties, space, "elsewhere.h5", "/y", space);
                    H5Dclose(H5Dcreate2(file.id(), "x", H5T_NATIVE_UINT8, space, H5P_DEFAULT, properties, H5P_DEFAULT));
                    H5Pclose(properties);
                    H5Sclose(space);
                }),
                HasSubstr("virtual dataset"));
}

// Nothing is stored, anything is claimed.
TEST_F(Hdf5Test, SizesThatNoFileCouldHoldAreNotBelieved) {
    for (const std::vector<hsize_t>& dims : {std::vector<hsize_t>{100'000'000'000, 4},
                                             {2, hsize_t{1} << 62U},
                                             {2, hsize_t{1} << 40U, hsize_t{1} << 40U}}) {
        {
            Hdf5Writer file(path_);
            file.write("x", dims, "", {.chunk = std::vector<hsize_t>(dims.size(), 2)});
        }
        EXPECT_THAT(refusal(ErrorKind::corrupt), HasSubstr("more"));
    }
}

TEST_F(Hdf5Test, AFileThatIsBeingWrittenIsNotRead) {
    test::write_packed_hdf5(path_, {"a"});
    const Fd writer(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(writer.get(), LOCK_EX), 0);  // as libhdf5 does
    EXPECT_THAT(refusal(ErrorKind::changed), HasSubstr("open for writing"));
    flock(writer.get(), LOCK_UN);
    EXPECT_EQ(open()->size(), 1U);
}

TEST_F(Hdf5Test, AFileWhoseWriterDiedIsNotRead) {
    const pid_t child = fork();
    if (child == 0) {
        Hdf5Writer file(path_, 0, H5F_LIBVER_LATEST);
        file.write("x", {2, 2}, "abcd", {.chunk = {1, 2}});
        H5Fflush(file.id(), H5F_SCOPE_GLOBAL);
        H5Fstart_swmr_write(file.id());
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_THAT(refusal(ErrorKind::changed), HasSubstr("h5clear"));
}

TEST_F(Hdf5Test, ShardsAreOneDatasetIfTheyAreLaidOutAlike) {
    path_ = directory_ / "shards";
    test::write_packed_hdf5(path_ + "/n-00000.h5", {"a", "bb"});
    test::write_packed_hdf5(path_ + "/n-00001.h5", {"ccc"});
    const auto dataset = open();
    EXPECT_THAT(by_extents(*dataset), ElementsAre("a", "bb", "ccc"));
    EXPECT_THAT(by_library(*dataset), ElementsAre("a", "bb", "ccc"));
    EXPECT_EQ(dataset->info().shards, 2U);
    // One that is compressed takes them all to the library.
    test::write_packed_hdf5(path_ + "/n-00002.h5", {"dddd"}, {.chunk = {2}, .gzip = true});
    EXPECT_FALSE(open()->has_extents());
    EXPECT_THAT(by_library(*open()), ElementsAre("a", "bb", "ccc", "dddd"));
    {
        Hdf5Writer file(path_ + "/n-00003.h5");
        file.write("images", {2, 2}, "abcd");
        file.write_integers("labels", {1, 2});
    }
    EXPECT_THAT(refusal(ErrorKind::usage), HasSubstr("laid out differently"));
    fs::remove(path_ + "/n-00003.h5");
    fs::resize_file(path_ + "/n-00001.h5", 2000);
    EXPECT_THAT(refusal(ErrorKind::corrupt), HasSubstr("truncated"));
    const auto rest = open("", true);
    EXPECT_THAT(by_library(*rest), ElementsAre("a", "bb", "dddd"));
    EXPECT_EQ(rest->info().oddities.at(0).kind, "broken shard");
}

TEST_F(Hdf5Test, TheReaderNoticesAFileThatChanges) {
    test::write_packed_hdf5(path_, {"aaaa", test::pattern(9000, 1)});
    const auto dataset = open();
    const auto reader = dataset->native_reader();
    const Extent extent = extent_of(*dataset, 1);
    std::string record(extent.length_bytes, '?');
    const auto read = [&] { return reader->read(1, extent, std::as_writable_bytes(std::span(record))); };
    ASSERT_EQ(read(), 9000);
    fs::resize_file(path_, fs::file_size(path_) - 1);
    EXPECT_EQ(read(), 0);
    fs::remove(path_);
    const auto late = dataset->native_reader();
    EXPECT_EQ(late->read(1, extent, std::as_writable_bytes(std::span(record))), -ENOENT);
}

}  // namespace
}  // namespace feedline
