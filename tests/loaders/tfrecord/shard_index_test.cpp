#include "loaders/tfrecord/shard_index.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "loaders/tfrecord/framing.h"
#include "tests/loaders/tfrecord/tfrecord_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::tfrecord {
namespace {

using test::begins_of;
using test::framed;
using test::shard_of;
using testing::HasSubstr;

class TfrecordIndex : public testing::Test {
protected:
    ShardFile write(const std::string& name, const std::string& content) {
        test::write_file(directory_ / name, content);
        return {directory_ / name, content.size()};
    }

    static std::vector<std::uint64_t> begins(const ShardIndex& index) {
        std::vector<std::uint64_t> offsets;
        for (SampleId id = 0; id < index.extents.samples(); ++id) {
            offsets.push_back(index.extents.extent(id).offset_bytes);
        }
        return offsets;
    }

    test::TempDir directory_;
};

Error error_of(const std::vector<ShardFile>& shards, const ChainOptions& options = {}) {
    try {
        index_shards(shards, options);
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error(ErrorKind::internal, "nothing");
}

TEST_F(TfrecordIndex, RecordsOfAllSizesTouchEachOther) {
    const std::vector<std::uint64_t> lengths = {0, 1, 511, 512, 513, 0, 4095, 4096, 4097, 300'000, 7};
    const ShardFile shard = write("a", shard_of(lengths));
    const ShardIndex index = index_shards(std::vector{shard}, {});
    EXPECT_EQ(begins(index), begins_of(lengths));
    for (SampleId id = 0; id < lengths.size(); ++id) {
        EXPECT_EQ(index.extents.extent(id).length_bytes, lengths[id] + kFramingBytes);
    }
    EXPECT_EQ(index.extents.bytes(), shard.size_bytes);
    EXPECT_EQ(index.extents.max_length_bytes(), 300'000 + kFramingBytes);
}

TEST_F(TfrecordIndex, ShardsFollowEachOtherAndMayBeEmpty) {
    const std::vector<ShardFile> shards = {write("a", shard_of({5, 6})), write("b", ""), write("c", shard_of({7}))};
    const ShardIndex index = index_shards(shards, {});
    ASSERT_EQ(index.extents.samples(), 3U);
    EXPECT_EQ(index.extents.extent(1).shard, 0U);
    EXPECT_EQ(index.extents.extent(2).shard, 2U);
    EXPECT_EQ(index.extents.first_sample(1), 2U);
    EXPECT_EQ(index.extents.first_sample(2), 2U);
}

// Whatever the parts: cut in the middle of headers, payloads and footers, parts without any header, payloads that look
// like records.
TEST_F(TfrecordIndex, WalkingFromManyPlacesFindsWhatOneWalkFinds) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 8; ++round) {
        std::string content;
        std::vector<std::uint64_t> expected;
        for (int record = 0; record < 40; ++record) {
            expected.push_back(content.size());
            const std::uint64_t length = random() % (record % 7 == 0 ? 3000 : 60);
            // Every fifth payload is itself a shard.
            content += framed(record % 5 == 0 ? shard_of({length % 50, 3, length % 20}) : test::pattern(length, 1));
        }
        const ShardFile shard = write("s", content);
        for (const std::uint64_t part : {1UL, 13UL, 100UL, 1000UL, content.size()}) {
            const ShardIndex index = index_shards(std::vector{shard}, {.threads = 4, .part_bytes = part});
            ASSERT_EQ(begins(index), expected) << "round " << round << ", parts of " << part;
        }
    }
}

TEST_F(TfrecordIndex, ACutTailIsAnErrorWhereverItIsCut) {
    const std::string whole = shard_of({20, 30});
    for (std::size_t size = 1; size < whole.size(); ++size) {
        if (size == 20 + kFramingBytes) continue;  // a shorter, whole shard
        const Error error = error_of({write("cut", whole.substr(0, size))});
        EXPECT_EQ(error.kind(), ErrorKind::corrupt) << size;
        EXPECT_EQ(error.offset_bytes(), size < 20 + kFramingBytes ? 0 : 20 + kFramingBytes) << size;
        EXPECT_THAT(error.what(), HasSubstr("cut"));
    }
}

TEST_F(TfrecordIndex, ALengthBeyondTheFileIsAnErrorAndNoAllocation) {
    for (const std::uint64_t length : {1000ULL, 1ULL << 40U, 1ULL << 62U, ~0ULL, ~0ULL - 15}) {
        const auto header = make_header(length);
        std::string content = framed("first");
        content.append(reinterpret_cast<const char*>(header.data()), header.size());
        content += "not that many bytes";
        const Error error = error_of({write("huge", content)});
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
        EXPECT_EQ(error.offset_bytes(), framed("first").size());
    }
}

TEST_F(TfrecordIndex, SkippingGoesOnBehindABrokenHeader) {
    std::string content = shard_of({100, 200, 300, 400});
    const std::vector<std::uint64_t> expected = begins_of({100, 200, 300, 400});
    content[expected[1] + 2] ^= 1;
    const ShardFile shard = write("broken", content);
    EXPECT_EQ(error_of({shard}).offset_bytes(), expected[1]);
    for (const std::uint64_t part : {50UL, 1000UL}) {
        const ShardIndex index = index_shards(std::vector{shard}, {.part_bytes = part, .skip_corrupt = true});
        EXPECT_EQ(begins(index), (std::vector<std::uint64_t>{expected[0], expected[2], expected[3]}));
        EXPECT_EQ(index.extents.extent(0).length_bytes, 100 + kFramingBytes);
        ASSERT_EQ(index.oddities.size(), 1U);
        EXPECT_EQ(index.oddities[0].kind, "broken record");
        EXPECT_THAT(index.oddities[0].example, HasSubstr("at offset " + std::to_string(expected[1])));
    }
}

TEST_F(TfrecordIndex, SkippingLeavesOutACutTail) {
    const std::string whole = shard_of({20, 30, 40});
    const ShardFile shard = write("cut", whole.substr(0, whole.size() - 1));
    const ShardIndex index = index_shards(std::vector{shard}, {.skip_corrupt = true});
    EXPECT_EQ(index.extents.samples(), 2U);
    ASSERT_EQ(index.oddities.size(), 1U);
    EXPECT_EQ(index.oddities[0].kind, "truncated shard");
}

TEST_F(TfrecordIndex, RecordsBeyondFourGibibytesAreFound) {
    constexpr std::uint64_t kLarge = (5ULL << 30U) + 3;
    const std::string path = directory_ / "sparse";
    const Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(fd);
    const auto header = make_header(kLarge);
    const std::string tail = framed("behind");
    ASSERT_EQ(pwrite(fd.get(), header.data(), header.size(), 0), 12);
    ASSERT_EQ(pwrite(fd.get(), tail.data(), tail.size(), kLarge + kFramingBytes), static_cast<ssize_t>(tail.size()));
    const ShardFile shard{path, kLarge + kFramingBytes + tail.size()};
    const ShardIndex index = index_shards(std::vector{shard}, {.part_bytes = UINT64_C(1) << 40U});
    ASSERT_EQ(index.extents.samples(), 2U);
    EXPECT_EQ(index.extents.extent(0).length_bytes, kLarge + kFramingBytes);
    EXPECT_EQ(index.extents.extent(1).offset_bytes, kLarge + kFramingBytes);
    EXPECT_EQ(index.extents.extent(1).length_bytes, tail.size());
}

// DALI's.
std::string index_text(const std::vector<std::uint64_t>& lengths) {
    std::string text;
    std::uint64_t offset = 0;
    for (const std::uint64_t length : lengths) {
        text += std::to_string(offset) + " " + std::to_string(length + kFramingBytes) + "\n";
        offset += length + kFramingBytes;
    }
    return text;
}

TEST_F(TfrecordIndex, AnIndexFileThatFitsSparesTheWalk) {
    std::vector<std::uint64_t> lengths;
    for (std::uint64_t i = 0; i < 40; ++i) lengths.push_back(i * 37 % 500);
    std::string content = shard_of(lengths);
    // Whoever walks would stumble here.
    content[begins_of(lengths)[2] + 1] ^= 1;
    const ShardFile shard = write("s.tfrecord", content);
    EXPECT_EQ(error_of({shard}).kind(), ErrorKind::corrupt);
    for (const char* name : {"s.idx", "s.tfrecord.idx"}) {
        test::write_file(directory_ / name, index_text(lengths));
        const ShardIndex index = index_shards(std::vector{shard}, {.part_bytes = 1000});
        EXPECT_EQ(begins(index), begins_of(lengths));
        EXPECT_EQ(index.extents.bytes(), content.size());
        EXPECT_TRUE(index.oddities.empty());
        std::filesystem::remove(directory_ / name);
    }
}

TEST_F(TfrecordIndex, AnIndexFileOfOtherDataIsSaidAndPassedOver) {
    const std::vector<std::uint64_t> lengths = {100, 200, 0, 400, 30};
    const ShardFile shard = write("s.tfrecord", shard_of(lengths));
    const std::string right = index_text(lengths);
    std::vector<std::string> wrong = {"",
                                      "{\"a\": 1}\n",
                                      "version https://git-lfs.github.com/spec/v1\n",
                                      index_text({100, 200, 0, 400, 31}),
                                      index_text({200, 100, 0, 400, 30}),
                                      index_text({100, 200, 0, 400}),
                                      index_text({730 + 4 * kFramingBytes}),
                                      "0 116\n116 18446744073709551615\n",
                                      right + "849 99999999999999999999\n",
                                      std::string(2U << 20U, '0')};
    for (std::size_t cut = 1; cut + 1 < right.size(); cut += 3) wrong.push_back(right.substr(0, cut));
    for (const std::string& text : wrong) {
        test::write_file(directory_ / "s.idx", text);
        const ShardIndex index = index_shards(std::vector{shard}, {});
        EXPECT_EQ(begins(index), begins_of(lengths)) << text.substr(0, 100);
        ASSERT_EQ(index.oddities.size(), 1U) << text.substr(0, 100);
        EXPECT_EQ(index.oddities[0].kind, "index file that does not fit its shard");
        EXPECT_THAT(index.oddities[0].example, HasSubstr("s.idx"));
    }
    for (std::size_t at = 0; at < right.size(); ++at) {
        std::string text = right;
        text[at] = static_cast<char>(text[at] ^ 1);
        test::write_file(directory_ / "s.idx", text);
        EXPECT_EQ(begins(index_shards(std::vector{shard}, {})), begins_of(lengths)) << text;
    }
}

TEST_F(TfrecordIndex, AFileThatShrankSinceItWasListedIsSaidToHaveChanged) {
    ShardFile shard = write("a", shard_of({100}));
    shard.size_bytes += 1000;
    EXPECT_EQ(error_of({shard}).kind(), ErrorKind::changed);
}

TEST_F(TfrecordIndex, AMissingShardIsNamed) {
    const Error error = error_of({{directory_ / "none", 100}});
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.what(), HasSubstr("none"));
}

}  // namespace
}  // namespace feedline::tfrecord
