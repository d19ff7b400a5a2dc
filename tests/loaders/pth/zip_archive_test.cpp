// ZIP archives as PyTorch, Python and nobody should write them.
#include "loaders/pth/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/loaders/pth/pth_lab.h"
#include "tests/testutil/memory_directory.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::pth {
namespace {

using test::zip_of;
using test::ZipMember;
using testing::HasSubstr;

class ZipTest : public testing::Test {
protected:
    // The bytes of every entry, by name and in order; a line that says why where there are none.
    std::string contents(const std::string& zip) {
        test::write_file(path_, zip);
        std::string found;
        try {
            FileWindow file(path_, zip.size());
            const ZipArchive archive(file);
            for (const ZipEntry& entry : archive.entries()) {
                const std::uint64_t offset = archive.data_offset(entry);
                found += std::string(entry.name) + "=" + zip.substr(offset, entry.size_bytes) + ";";
                EXPECT_EQ(archive.find(entry.name), &entry);
            }
        } catch (const Error& error) {
            EXPECT_TRUE(error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::usage) << error.what();
            EXPECT_TRUE(error.offset_bytes().has_value()) << error.what();
            return std::string(to_string(error.kind())) + ": " + error.what();
        }
        return found;
    }

    test::TempDir directory_{test::memory_directory()};
    std::string path_ = directory_ / "a.zip";
};

TEST_F(ZipTest, EntriesAreFoundHoweverTheyAreWritten) {
    std::vector<ZipMember> members;
    std::string expected;
    for (const bool descriptor : {false, true}) {
        for (const bool wide : {false, true}) {
            for (const std::size_t size : {0U, 1U, 511U, 512U, 513U}) {
                const std::string name = "n" + std::to_string(members.size());
                members.push_back({.name = name,
                                   .content = std::string(size, 'c'),
                                   .descriptor = descriptor,
                                   .wide = wide,
                                   .padding = static_cast<std::uint16_t>(size % 7)});
                expected += name + "=" + members.back().content + ";";
            }
        }
    }
    EXPECT_EQ(contents(zip_of(members)), expected);
    EXPECT_EQ(contents(zip_of(members, {.wide_end = false})), expected);
    EXPECT_EQ(contents(zip_of(members, {.comment = "PK\5\6 is not the end"})), expected);
    EXPECT_EQ(contents(zip_of({})), "");
}

TEST_F(ZipTest, WhatCannotBeReadInPlaceIsRefusedByName) {
    EXPECT_THAT(contents(zip_of({{.name = "d", .content = "xx", .method = 8}})),
                testing::AllOf(HasSubstr("usage: entry d is compressed (method 8)")));
    for (const int flag : {1, 1 << 6, 1 << 13}) {
        EXPECT_THAT(contents(zip_of({{.name = "d", .content = "xx", .flags = static_cast<std::uint16_t>(flag)}})),
                    HasSubstr("usage: entry d is encrypted"));
    }
    EXPECT_THAT(contents(zip_of({{.name = "d"}, {.name = "d"}})), HasSubstr("corrupt: two entries are called d"));
}

TEST_F(ZipTest, NumbersAreBelievedOnlyAsFarAsTheFileGoes) {
    const std::string zip = zip_of({{.name = "d", .content = "content", .descriptor = true}, {.name = "e"}});
    const std::string right = contents(zip);
    const auto with = [&](std::size_t offset, std::string_view bytes) {
        std::string changed = zip;
        changed.replace(offset, bytes.size(), bytes);
        return contents(changed);
    };
    constexpr std::string_view kHuge("\xfe\xff\xff\xff\xff\xff\xff\x7f", 8);
    const std::size_t end = zip.size() - 22;
    const std::size_t wide_end = end - 20 - 56;
    for (const std::size_t field : {24U, 32U, 40U, 48U}) {  // entries here and in all, size and place of the directory
        if (field == 24) continue;                          // of this volume: the other one counts
        EXPECT_THAT(with(wide_end + field, kHuge), HasSubstr("corrupt")) << field;
    }
    EXPECT_THAT(with(end - 20 + 8, kHuge), HasSubstr("corrupt"));  // where the ZIP64 end is
    const std::size_t directory = zip.find("PK\1\2");
    for (const std::size_t field : {20U, 24U, 42U}) {  // sizes, local header
        EXPECT_THAT(with(directory + field, kHuge.substr(0, 4)), HasSubstr("corrupt")) << field;
    }
    for (const std::size_t field : {28U, 30U, 32U}) {  // lengths of what follows
        EXPECT_THAT(with(directory + field, kHuge.substr(1, 2)), HasSubstr("corrupt")) << field;
    }
    EXPECT_THAT(with(28, "\x01"), HasSubstr("corrupt"));  // the local header's extra field: data would begin elsewhere
    EXPECT_THAT(with(30, "x"), HasSubstr("no local header of its name"));
    EXPECT_NE(right.find("d=content"), std::string::npos);
}

TEST_F(ZipTest, EveryTruncationAndEveryFlippedByteEndsInAnErrorOrTheRightAnswer) {
    const std::string zip = zip_of({{.name = "first", .content = "content", .descriptor = true, .padding = 3},
                                    {.name = "second", .content = "more", .wide = true}});
    const std::string right = contents(zip);
    for (std::size_t length = 0; length < zip.size(); ++length) {
        EXPECT_THAT(contents(zip.substr(0, length)), HasSubstr("corrupt: ")) << length;
    }
    for (std::size_t i = 0; i < zip.size(); ++i) {
        for (const int mask : {0x01, 0x80, 0xff}) {
            std::string flipped = zip;
            flipped[i] = static_cast<char>(flipped[i] ^ mask);
            const std::string found = contents(flipped);
            if (found.starts_with("corrupt: ") || found.starts_with("usage: ")) continue;
            // What is left is the content itself, and fields that say nothing of where it lies.
            std::string same = found;
            for (const std::string& name : {std::string("first="), std::string("second=")}) {
                const std::size_t at = same.find(name);
                ASSERT_NE(at, std::string::npos) << i;
                const std::size_t value = at + name.size();
                same.replace(value, name == "first=" ? 7 : 4, right.substr(value, name == "first=" ? 7 : 4));
            }
            EXPECT_EQ(same, right) << i << " ^ " << mask;
        }
    }
}

}  // namespace
}  // namespace feedline::pth
