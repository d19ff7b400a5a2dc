#include "bench/report/text.h"

#include <gtest/gtest.h>

namespace feedline {
namespace {

TEST(Text, IsCutAtTheEndOrAtTheBeginning) {
    EXPECT_EQ(shortened("abcdef", 6), "abcdef");
    EXPECT_EQ(shortened("abcdefg", 6), "abcd..");
    EXPECT_EQ(shortened_middle("abcdef", 6), "abcdef");
    EXPECT_EQ(shortened_middle("abcdefg", 6), "ab..fg");
    EXPECT_EQ(shortened_middle("\xc3\xa9tudes caf\xc3\xa9", 5), "\xc3\xa9t..\xc3\xa9") << "whole characters";
    EXPECT_EQ(shortened_middle("abcdefg", 2), "..");
    EXPECT_EQ(shortened("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 3), "\xc3\xa9..");
}

TEST(Text, WordsStandBelowTheFirstLinesBeginning) {
    EXPECT_EQ(wrapped("  a: ", "one two three four five six seven", 32),
              "  a: one two three four five six\n     seven\n");
    EXPECT_EQ(wrapped("  a: ", "", 32), "  a: \n");
}

TEST(Text, WithoutRoomBehindTheFirstTheyStandBelowIt) {
    EXPECT_EQ(wrapped("  a long beginning of it  ", "one two three four five", 40),
              "  a long beginning of it\n      one two three four five\n");
    EXPECT_EQ(wrapped("  a long beginning of it  ", "one", 40), "  a long beginning of it  one\n") << "it fits";
}

TEST(Text, IsPaddedByColumns) {
    EXPECT_EQ(padded("\xc3\xa9", 3, false), "\xc3\xa9  ");
    EXPECT_EQ(padded("\xc3\xa9", 3, true), "  \xc3\xa9");
    EXPECT_EQ(padded("long", 3, true), "long");
}

}  // namespace
}  // namespace feedline
