// Shards behind gzip and zlib.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "loaders/tfrecord/framing.h"
#include "loaders/tfrecord/shard_index.h"
#include "loaders/tfrecord/tfrecord_format.h"
#include "tests/loaders/shards/deflate.h"
#include "tests/loaders/tfrecord/tfrecord_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::tfrecord {
namespace {

using test::framed;
using test::gzipped;
using test::shard_of;
using testing::HasSubstr;

class CompressedTfrecord : public testing::Test {
protected:
    std::unique_ptr<Dataset> open(const std::string& content, bool skip_corrupt = false) {
        test::write_file(path_, content);
        return TfrecordFormat().open(path_, {.skip_corrupt = skip_corrupt});
    }
    Error error(const std::string& content) {
        try {
            open(content);
        } catch (const Error& error) {
            return error;
        }
        ADD_FAILURE() << "nothing was thrown";
        return Error(ErrorKind::internal, "nothing");
    }
    static std::string read(const Dataset& dataset, SampleId id) {
        Extent extent;
        dataset.locate(std::span(&id, 1), std::span(&extent, 1));
        std::string record(extent.length_bytes, '\0');
        const std::int64_t got = dataset.native_reader()->read(id, extent, std::as_writable_bytes(std::span(record)));
        EXPECT_EQ(got, static_cast<std::int64_t>(extent.length_bytes));
        return record;
    }

    test::TempDir directory_;
    std::string path_ = directory_ / "shard-00000-of-00001";
};

TEST_F(CompressedTfrecord, IsFoundByItsContentWhateverItsName) {
    const std::string shard = shard_of({0, 1, 511, 512, 513, 4095, 4096, 4097, 300'000, 7});
    for (const std::string& content :
         {gzipped(shard), test::zlibbed(shard), gzipped(shard.substr(0, 30)) + gzipped(shard.substr(30))}) {
        const auto dataset = open(content);
        EXPECT_EQ(TfrecordFormat().probe(path_), Confidence::yes);
        EXPECT_FALSE(dataset->has_extents());
        ASSERT_EQ(dataset->size(), 10U);
        std::string all;
        for (SampleId id = 0; id < dataset->size(); ++id) all += read(*dataset, id);
        EXPECT_TRUE(all == shard);
    }
    test::write_file(path_, gzipped("no records at all"));
    EXPECT_EQ(TfrecordFormat().probe(path_), Confidence::no);
}

TEST_F(CompressedTfrecord, ACutOrDamagedStreamIsAnErrorOrSkippedUpToThere) {
    const std::string shard = shard_of({200, 300, 400, 500, 600});
    const std::string stream = gzipped(shard);
    for (std::size_t size = 40; size < stream.size(); size += 13) {
        const Error found = error(stream.substr(0, size));
        EXPECT_EQ(found.kind(), ErrorKind::corrupt) << size;
        EXPECT_EQ(found.offset_bytes(), size);
    }
    for (const std::size_t at : {100UL, 900UL, 1500UL}) {
        std::string broken = stream;
        std::fill_n(broken.begin() + static_cast<std::ptrdiff_t>(at), 20, '\xff');
        const Error found = error(broken);
        EXPECT_EQ(found.kind(), ErrorKind::corrupt) << at;
        EXPECT_THAT(found.what(), HasSubstr("shard-00000-of-00001"));
    }
    const auto dataset = open(stream.substr(0, stream.size() - 100), true);
    EXPECT_EQ(dataset->size(), 4U);
    EXPECT_EQ(read(*dataset, 3), shard.substr(test::begins_of({200, 300, 400, 500})[3], 500 + kFramingBytes));
    ASSERT_EQ(dataset->info().oddities.size(), 1U);
    EXPECT_EQ(dataset->info().oddities[0].kind, "truncated shard");
}

TEST_F(CompressedTfrecord, WholeStreamsOfBrokenRecordsAreErrorsToo) {
    const std::string shard = shard_of({20, 30});
    EXPECT_THAT(error(gzipped(shard.substr(0, shard.size() - 1))).what(), HasSubstr("45 bytes on"));
    const std::string large = shard_of({20, 600'000});
    EXPECT_THAT(error(gzipped(large.substr(0, large.size() - 1))).what(), HasSubstr("600015 bytes into a record"));
    EXPECT_THAT(error(gzipped(shard.substr(0, 40))).what(), HasSubstr("header"));
    std::string broken = shard;
    broken[36 + 3] ^= 1;
    EXPECT_THAT(error(gzipped(broken)).what(), HasSubstr("checksum"));
}

// What inflates to far more than it is costs time and no memory.
TEST_F(CompressedTfrecord, ABombIsRefused) {
    const auto header = make_header(std::uint64_t{1} << 60U);
    std::string bomb(reinterpret_cast<const char*>(header.data()), header.size());
    bomb.append(std::size_t{32} << 20U, '\0');
    EXPECT_THAT(error(gzipped(bomb, 1)).what(), HasSubstr("into a record"));
    std::string empties;
    for (int i = 0; i < 100'000; ++i) empties += framed("");
    EXPECT_THAT(error(gzipped(empties, 9)).what(), HasSubstr("more than any dataset"));
}

TEST_F(CompressedTfrecord, SetsMayBePartlyCompressed) {
    test::write_file(directory_ / "set/a", shard_of({10, 20}));
    test::write_file(directory_ / "set/b", gzipped(shard_of({30, 40})));
    const auto dataset = TfrecordFormat().open(directory_ / "set", {});
    ASSERT_EQ(dataset->size(), 4U);
    std::string all;
    for (SampleId id = 0; id < 4; ++id) all += read(*dataset, id);
    EXPECT_EQ(all, shard_of({10, 20}) + shard_of({30, 40}));
}

}  // namespace
}  // namespace feedline::tfrecord
