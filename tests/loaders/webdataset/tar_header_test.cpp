#include "loaders/webdataset/tar_header.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "loaders/webdataset/naming.h"
#include "tests/loaders/webdataset/tar_lab.h"

namespace feedline::tar {
namespace {

using test::tar_entry;

Block block(const std::string& bytes) {
    return std::as_bytes(std::span(bytes)).first<kBlockBytes>();
}

TEST(TarHeader, SizesAreOctalOrBase256) {
    for (const bool base256 : {false, true}) {
        const std::string entry = tar_entry({.name = "a.txt", .content = std::string(70'000, 'x'), .base256 = base256});
        const std::optional<Header> header = parse_header(block(entry));
        ASSERT_TRUE(header);
        EXPECT_EQ(header->name, "a.txt");
        EXPECT_EQ(header->size_bytes, 70'000U);
        EXPECT_TRUE(header->is_file());
    }
}

TEST(TarHeader, SizesBeyondEightGibibytesAreBase256) {
    std::string entry = tar_entry({.name = "a.bin"});
    entry.replace(124, 12, std::string("\x80\0\0\0\0\0\0\x03\0\0\0\x01", 12));
    test::sign_tar_header(entry);
    EXPECT_EQ(parse_header(block(entry))->size_bytes, (3ULL << 32U) + 1);
    for (const std::string& absurd : {std::string(12, '\xff'), std::string("\xbf") + std::string(11, '\xff')}) {
        entry.replace(124, 12, absurd);
        test::sign_tar_header(entry);
        EXPECT_FALSE(parse_header(block(entry)));
    }
}

TEST(TarHeader, AnyFlippedBitIsSeen) {
    const std::string entry = tar_entry({.name = "some/name.txt", .content = "content"});
    for (std::size_t bit = 0; bit < kBlockBytes * 8; ++bit) {
        std::string broken = entry;
        broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
        const std::optional<Header> header = parse_header(block(broken));
        // A blank in the checksum field may take the place of a NUL.
        if (header) {
            EXPECT_TRUE(bit / 8 >= 148 && bit / 8 < 156) << "bit " << bit;
            EXPECT_EQ(header->name, "some/name.txt");
        }
    }
}

TEST(TarHeader, APrefixIsPutInFrontWhereTheFormatHasOne) {
    std::string entry = tar_entry({.name = "name.txt"});
    entry.replace(345, 4, "dirs");
    test::sign_tar_header(entry);
    EXPECT_EQ(parse_header(block(entry))->name, "dirs/name.txt");
    entry.replace(257, 8, std::string("ustar  \0", 8));
    test::sign_tar_header(entry);
    EXPECT_EQ(parse_header(block(entry))->name, "name.txt");
}

TEST(PaxRecords, GiveNameAndSize) {
    Extension extension;
    ASSERT_TRUE(parse_pax("11 size=42\n30 mtime=1700000000.123456789\n20 path=a=b\nc/d.txt\n", extension));
    EXPECT_EQ(extension.size_bytes, 42U);
    EXPECT_EQ(extension.name, "a=b\nc/d.txt");
}

TEST(PaxRecords, BrokenOnesAreRefused) {
    for (const std::string_view records : {"x", "5", "99 size=42\n", "11 size=42 ", "3 =\n", "10 size=42\n",
                                           "11 size=4x\n", "0 size=42\n", "18446744073709551616 a=b\n"}) {
        Extension extension;
        EXPECT_FALSE(parse_pax(records, extension)) << records;
    }
}

TEST(Naming, TheKeyEndsAtTheFirstDotOfTheLastComponent) {
    const auto name = webdataset::split_name("dir.with.dots/000.seg.png");
    ASSERT_TRUE(name);
    EXPECT_EQ(name->key, "dir.with.dots/000");
    EXPECT_EQ(name->extension, "seg.png");
    EXPECT_EQ(webdataset::split_name("a.")->extension, "");
    for (const char* none : {"a", "dir.x/a", ".hidden", "dir/.hidden", "__meta__", "__a.b__", "", "dir/"}) {
        EXPECT_FALSE(webdataset::split_name(none)) << none;
    }
}

TEST(Naming, APathThatOurWriterEscapedComesBack) {
    const auto path = [](std::string_view name) { return webdataset::path_in(webdataset::split_name(name).value()); };
    EXPECT_EQ(path("cat/1.jpg"), "cat/1.jpg");
    EXPECT_EQ(path("a%2Eb%20c%25.jpg"), "a.b c%.jpg");
    EXPECT_EQ(path("d/x%2Ejpg.jpg"), "d/x.jpg");
    EXPECT_EQ(path("%FF.bin"), "\xff.bin");
    // What it would not have written.
    for (const char* other : {"100%.jpg", "%41.jpg", "%2e.jpg", "%2.jpg", "%ZZ.jpg", "a%20b%4.jpg"}) {
        EXPECT_EQ(path(other), other);
    }
}

}  // namespace
}  // namespace feedline::tar
