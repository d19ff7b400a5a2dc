#include "loaders/webdataset/webdataset_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "loaders/shards/chain.h"
#include "loaders/webdataset/tar_chain.h"
#include "tests/loaders/webdataset/tar_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::gnu_long_entry;
using test::pax_entry;
using test::tar_end;
using test::tar_entry;
using test::TarEntry;
using testing::HasSubstr;

class WebdatasetTest : public testing::Test {
protected:
    std::unique_ptr<Dataset> open(const std::string& content, bool skip_corrupt = false) {
        test::write_file(directory_ / "shard.tar", content);
        content_ = content;
        return WebdatasetFormat().open(directory_ / "shard.tar", {.skip_corrupt = skip_corrupt});
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
    std::span<const std::byte> record(const Dataset& dataset, SampleId id) const {
        Extent extent;
        dataset.locate(std::span(&id, 1), std::span(&extent, 1));
        return std::as_bytes(std::span(content_)).subspan(extent.offset_bytes, extent.length_bytes);
    }
    std::string payload(const Dataset& dataset, SampleId id) const {
        const auto bytes = dataset.payload(id, record(dataset, id));
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    test::TempDir directory_;
    std::string content_;
};

TEST_F(WebdatasetTest, NeighboursOfOneKeyAreASample) {
    const auto dataset =
        open(tar_entry({.name = "a.cls", .content = "1"}) + tar_entry({.name = "a.jpg", .content = "A"}) +
             tar_entry({.name = "b.jpg", .content = "B"}) + tar_entry({.name = "b.json", .content = "{}"}) +
             tar_entry({.name = "a.txt", .content = "again"}) + tar_end());
    ASSERT_EQ(dataset->size(), 3U);
    EXPECT_EQ(payload(*dataset, 0), "A");
    EXPECT_EQ(payload(*dataset, 1), "B");
    EXPECT_EQ(payload(*dataset, 2), "again");
    for (SampleId id = 0; id < 3; ++id) EXPECT_EQ(dataset->check(id, record(*dataset, id)), "");
    // Neighbours touch, so that they can be read with one request.
    EXPECT_EQ(dataset->info().bytes, 10 * 512U);
}

TEST_F(WebdatasetTest, EveryMemberIsAPartAndClsIsTheLabel) {
    const auto dataset =
        open(tar_entry({.name = "d/a.cls", .content = "7\n"}) + tar_entry({.name = "d/a.seg.png", .content = "S"}) +
             tar_entry({.name = "d/a.json", .content = "{}"}) + pax_entry("e/" + std::string(120, 'b') + ".jpg", "B") +
             tar_entry({.name = "e/c.txt", .content = "only"}) + tar_end());
    ASSERT_EQ(dataset->size(), 3U);
    EXPECT_EQ(dataset->key(0), "d/a");
    EXPECT_EQ(dataset->key(1), "e/" + std::string(120, 'b'));
    const SampleViews first = dataset->views(0, record(*dataset, 0));
    ASSERT_EQ(first.parts.size(), 3U);
    EXPECT_EQ(first.parts[0].name, "seg.png");
    EXPECT_EQ(first.parts[1].name, "cls");
    EXPECT_EQ(first.parts[2].name, "json");
    EXPECT_EQ(first.parts[0].bytes.data(), dataset->payload(0, record(*dataset, 0)).data());
    EXPECT_EQ(std::get<std::int64_t>(first.label), 7);
    EXPECT_EQ(first.original_path, "d/a.seg.png");
    EXPECT_EQ(first.problem, "");
    const SampleViews second = dataset->views(1, record(*dataset, 1));
    EXPECT_EQ(second.original_path, "e/" + std::string(120, 'b') + ".jpg");
    EXPECT_TRUE(std::holds_alternative<std::monostate>(second.label));
    EXPECT_EQ(dataset->views(2, record(*dataset, 2)).parts.at(0).name, "txt");
}

TEST_F(WebdatasetTest, ALabelIsANumberOrText) {
    const auto label = [&](const std::string& content) {
        const auto dataset = open(tar_entry({.name = "a.cls", .content = content}) + tar_end());
        return dataset->views(0, record(*dataset, 0)).label;
    };
    EXPECT_EQ(label("0"), Label(std::int64_t{0}));
    EXPECT_EQ(label(" -12\r\n"), Label(std::int64_t{-12}));
    EXPECT_EQ(label("cat"), Label("cat"));
    EXPECT_EQ(label("7 8"), Label("7 8"));
    EXPECT_EQ(label("99999999999999999999"), Label("99999999999999999999"));
    EXPECT_EQ(label("\n"), Label());
}

TEST_F(WebdatasetTest, WhatBelongsToNoSampleIsPassedOver) {
    const auto dataset =
        open(tar_entry({.name = "dir/", .type = '5'}) + tar_entry({.name = "README", .content = "r"}) +
             tar_entry({.name = "x.jpg", .content = "X"}) + tar_entry({.name = "__meta__", .content = "m"}) +
             tar_entry({.name = "x.cls", .content = "7"}) + tar_entry({.name = "link.jpg", .type = '2'}) + tar_end());
    ASSERT_EQ(dataset->size(), 1U);
    EXPECT_EQ(payload(*dataset, 0), "X");
    EXPECT_EQ(dataset->check(0, record(*dataset, 0)), "");
    ASSERT_EQ(dataset->info().oddities.size(), 1U);
    EXPECT_EQ(dataset->info().oddities[0].count, 4U);
}

TEST_F(WebdatasetTest, LongNamesComeInExtensionHeaders) {
    const std::string name = "d/" + std::string(150, 'n');
    for (const bool pax : {true, false}) {
        const auto entry = pax ? pax_entry : gnu_long_entry;
        const auto dataset =
            open(entry(name + "1.jpg", "one") + entry(name + "1.cls", "5") + entry(name + "2.jpg", "two") + tar_end());
        ASSERT_EQ(dataset->size(), 2U);
        EXPECT_EQ(payload(*dataset, 0), "one");
        EXPECT_EQ(payload(*dataset, 1), "two");
    }
}

TEST_F(WebdatasetTest, TheEndMayBeMissing) {
    const std::string body = tar_entry({.name = "a.jpg", .content = "A"}) + tar_entry({.name = "b.jpg", .content = ""});
    for (const std::size_t zeros : {0UL, 512UL, 1024UL, 10'240UL}) {
        const auto dataset = open(body + std::string(zeros, '\0'));
        EXPECT_EQ(dataset->size(), 2U);
        EXPECT_EQ(dataset->info().bytes, body.size());
    }
}

TEST_F(WebdatasetTest, ACutArchiveIsAnErrorWhereverItIsCut) {
    const std::string body =
        tar_entry({.name = "a.jpg", .content = "A"}) + pax_entry(std::string(120, 'b') + ".jpg", std::string(600, 'B'));
    const std::size_t whole = 1024;
    for (std::size_t size = 512; size < body.size(); size += size % 512 == 0 || size % 512 == 511 ? 1 : 85) {
        if (size == whole) continue;
        const Error found = error(body.substr(0, size));
        EXPECT_EQ(found.kind(), ErrorKind::corrupt) << size;
        EXPECT_EQ(found.offset_bytes(), size < whole ? 0 : whole) << size;
    }
}

// What DALI's wds2idx says of 40 samples: a directory, a long name, and what belongs to no sample are among them.
struct Indexed {
    std::string archive;
    std::string with_names = "v1.2 40\n";
    std::string without = "v1.1 40\n";
};

Indexed indexed_archive() {
    Indexed made;
    made.archive = tar_entry({.name = "d/", .type = '5'});
    for (int i = 0; i < 40; ++i) {
        std::string separator;
        for (const char* extension : {"jpg", "cls"}) {
            const std::string name = "d/" + std::string(i == 7 ? 120 : 3, 'k') + std::to_string(i) + "." + extension;
            const std::string content(static_cast<std::size_t>(i * 100 % 1500), 'x');
            made.archive += i == 7 ? pax_entry(name, content) : tar_entry({.name = name, .content = content});
            const std::uint64_t data = made.archive.size() - (content.size() + 511) / 512 * 512;
            const std::string part =
                separator + extension + " " + std::to_string(data) + " " + std::to_string(content.size());
            made.with_names += part + " " + name;
            made.without += part;
            separator = " ";
        }
        made.with_names += "\n";
        made.without += "\n";
        if (i == 9) made.archive += tar_entry({.name = "README", .content = "r"});
    }
    made.archive += tar_end();
    return made;
}

TEST_F(WebdatasetTest, AnIndexFileThatFitsSparesTheWalk) {
    const Indexed made = indexed_archive();
    const auto walked = open(made.archive);
    std::vector<std::string> keys;
    std::vector<std::string> payloads;
    for (SampleId id = 0; id < walked->size(); ++id) {
        keys.push_back(walked->key(id));
        payloads.push_back(payload(*walked, id));
    }
    for (const bool named : {true, false}) {
        test::write_file(directory_ / "shard.idx", named ? made.with_names : made.without);
        const auto dataset = open(made.archive);
        ASSERT_EQ(dataset->size(), 40U);
        EXPECT_TRUE(dataset->info().oddities.empty());  // nobody looked at the members of no sample
        for (SampleId id = 0; id < dataset->size(); ++id) {
            EXPECT_EQ(dataset->key(id), named ? keys[id] : "shard.tar#" + std::to_string(id));
            EXPECT_TRUE(payload(*dataset, id) == payloads[id]) << id;
            EXPECT_EQ(dataset->check(id, record(*dataset, id)), "");
        }
    }
}

TEST_F(WebdatasetTest, AnIndexFileOfOtherDataIsSaidAndPassedOver) {
    const Indexed made = indexed_archive();
    const auto with = [&](std::string text, const char* from, const char* to) {
        return text.replace(text.find(from), std::string_view(from).size(), to);
    };
    const std::string& right = made.with_names;
    for (const std::string& text :
         {std::string(), std::string("v1.0 40\n"), std::string("{}"), with(right, "v1.2 40", "v1.2 41"),
          with(right, "v1.2", "v1.1"), with(right, "jpg 1024", "jpg 1536"), with(right, "jpg 1024", "jpg 1025"),
          with(right, "kkk0.jpg", "kk k0.jpg"), with(right, "kkk0.cls", "kkk1.cls"), with(right, "cls ", "txt "),
          with(right, "kkk0", "abc0"), right.substr(0, right.rfind('\n', right.size() - 2) + 1)}) {
        test::write_file(directory_ / "shard.idx", text);
        const auto dataset = open(made.archive);
        EXPECT_EQ(dataset->size(), 40U);
        EXPECT_EQ(dataset->key(1), "d/kkk1");
        ASSERT_FALSE(dataset->info().oddities.empty());
        EXPECT_EQ(dataset->info().oddities[0].kind, "index file that does not fit its shard") << text.substr(0, 99);
    }
    // A sample that was appended since.
    test::write_file(directory_ / "shard.idx", right);
    const std::string body = made.archive.substr(0, made.archive.size() - 1024);
    EXPECT_EQ(open(body + tar_entry({.name = "new.jpg", .content = "N"}) + tar_end())->size(), 41U);
}

TEST_F(WebdatasetTest, SizesBeyondTheFileAreErrorsAndNoAllocation) {
    for (const std::string& size :
         {std::string("77777777777\0", 12), std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12),
          std::string("\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12)}) {
        std::string entry = tar_entry({.name = "a.jpg", .content = "A"});
        entry.replace(124, 12, size);
        test::sign_tar_header(entry);
        EXPECT_EQ(error(entry).kind(), ErrorKind::corrupt);
        entry[156] = 'x';
        test::sign_tar_header(entry);
        EXPECT_EQ(error(entry).kind(), ErrorKind::corrupt);
    }
}

TEST_F(WebdatasetTest, SparseMembersAreRefusedByName) {
    EXPECT_THAT(error(tar_entry({.name = "a.bin", .content = "x", .type = 'S'}) + tar_end()).what(),
                HasSubstr("type S"));
}

TEST_F(WebdatasetTest, SkippingGoesOnBehindABrokenHeader) {
    std::string content = tar_entry({.name = "a.jpg", .content = "A"}) + tar_entry({.name = "b.jpg", .content = "B"}) +
                          tar_entry({.name = "c.jpg", .content = "C"}) + tar_end();
    content[1024] = 'x';
    EXPECT_EQ(error(content).offset_bytes(), 1024U);
    const auto dataset = open(content, true);
    ASSERT_EQ(dataset->size(), 2U);
    EXPECT_EQ(payload(*dataset, 1), "C");
    ASSERT_FALSE(dataset->info().oddities.empty());
    EXPECT_EQ(dataset->info().oddities[0].kind, "broken record");
}

TEST_F(WebdatasetTest, APartThatIsThereTwiceIsAProblemOfItsSample) {
    const auto dataset =
        open(tar_entry({.name = "a.jpg", .content = "A"}) + tar_entry({.name = "a.jpg", .content = "B"}));
    ASSERT_EQ(dataset->size(), 1U);
    EXPECT_THAT(dataset->check(0, record(*dataset, 0)), HasSubstr("twice"));
}

TEST_F(WebdatasetTest, OfManyPartsEachIsSeenOnce) {
    std::string frames;
    for (int i = 0; i < 40; ++i) frames += tar_entry({.name = "film." + std::to_string(i) + ".jpg"});
    const auto whole = open(frames + tar_end());
    EXPECT_EQ(whole->views(0, record(*whole, 0)).parts.size(), 40U);
    EXPECT_EQ(whole->check(0, record(*whole, 0)), "");
    for (const char* again : {"film.3.jpg", "film.16.jpg", "film.39.jpg"}) {
        const auto twice = open(frames + tar_entry({.name = again}) + tar_end());
        EXPECT_THAT(twice->check(0, record(*twice, 0)), HasSubstr("twice"));
    }
}

// Looking for the next member behind each of them would take the square of their number.
TEST_F(WebdatasetTest, OfExtensionHeadersAMemberHasAFew) {
    const auto headers = [](int count, std::size_t bytes) {
        std::string all;
        const TarEntry header{.name = "x", .content = std::string(bytes, '\0'), .type = 'K'};
        for (int i = 0; i < count; ++i) all += tar_entry(header);
        return all;
    };
    const std::string member = tar_entry({.name = "a.jpg"}) + tar_end();
    EXPECT_EQ(open(headers(16, 1) + member)->size(), 1U);
    EXPECT_THAT(error(headers(17, 1) + member).message(), HasSubstr("16 extension headers"));
    constexpr std::size_t kMiB = std::size_t{1} << 20U;
    EXPECT_EQ(open(headers(2, kMiB / 2) + member)->size(), 1U);
    EXPECT_THAT(error(headers(2, kMiB / 2 + 1) + member).message(), HasSubstr("1 MiB"));
    EXPECT_EQ(open(headers(17, 1) + member, true)->size(), 1U);
}

TEST_F(WebdatasetTest, AnArchiveWithoutSamplesSaysWhatNamesAreNeeded) {
    EXPECT_THAT(error(tar_entry({.name = "README", .content = "r"}) + tar_end()).what(), HasSubstr("KEY.EXTENSION"));
}

// Whatever the parts; archives within archives look like members where they are none.
TEST_F(WebdatasetTest, WalkingFromManyPlacesFindsWhatOneWalkFinds) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 6; ++round) {
        std::string content;
        for (int member = 0; member < 40; ++member) {
            const std::string name = std::to_string(member / 2) + (member % 2 == 0 ? ".jpg" : ".tar");
            std::string inside = tar_entry({.name = "inner.jpg", .content = std::string(random() % 900, 'i')});
            if (member % 3 == 0) inside += tar_end() + "more";
            const std::string body = member % 2 == 0 ? std::string(random() % 3000, 'x') : inside;
            content += member % 5 == 0 ? pax_entry(name, body) : tar_entry({.name = name, .content = body});
        }
        content += tar_end();
        test::write_file(directory_ / "s", content);
        const std::vector<ShardFile> shards = {{directory_ / "s", content.size()}};
        const auto walk = [&](std::uint64_t part_bytes) {
            std::vector<std::uint64_t> bounds;
            walk_shards(shards, webdataset::TarChain(), {.threads = 3, .part_bytes = part_bytes},
                        [&](std::size_t, std::span<const WalkedRecord> records) {
                            for (const WalkedRecord& record : records) {
                                bounds.insert(bounds.end(), {record.begin_bytes, record.end_bytes});
                            }
                        });
            return bounds;
        };
        const std::vector<std::uint64_t> expected = walk(UINT64_C(1) << 40U);
        EXPECT_EQ(expected.size(), 80U);
        for (const std::uint64_t part : {512UL, 700UL, 5000UL}) EXPECT_EQ(walk(part), expected) << part;
    }
}

}  // namespace
}  // namespace feedline
