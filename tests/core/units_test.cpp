#include "core/units.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace feedline {
namespace {

TEST(Units, SizesTellKiBFromKB) {
    EXPECT_EQ(parse_size("4096"), 4096U);
    EXPECT_EQ(parse_size("64KiB"), 65536U);
    EXPECT_EQ(parse_size("64KB"), 64000U);
    EXPECT_EQ(parse_size("1.5 MB"), 1500000U);
    EXPECT_EQ(parse_size("2GiB"), 2147483648U);
    EXPECT_EQ(parse_size("0"), 0U);
}

TEST(Units, TimesTakeTheirUnit) {
    EXPECT_EQ(parse_time("375us"), 375'000);
    EXPECT_EQ(parse_time("0.375ms"), 375'000);
    EXPECT_EQ(parse_time("2s"), 2'000'000'000);
    EXPECT_EQ(parse_time("5m"), 300'000'000'000);
    EXPECT_EQ(parse_time("0"), 0);
}

TEST(Units, NonsenseIsRefusedWithWhatWasExpected) {
    for (const char* text :
         {"", "x", "-1", "1 potato", "1kb", "nan", "inf", "1e400", "0x10", "10 KBs", "9999999999TiB", "1 2"}) {
        try {
            parse_size(text);
            ADD_FAILURE() << "accepted '" << text << "'";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        }
    }
    EXPECT_THROW(parse_time("-1s"), Error);
    EXPECT_THROW(parse_time("1e30h"), Error);
    EXPECT_THROW(parse_rate("fast"), Error);
    EXPECT_DOUBLE_EQ(parse_rate("25GB/s"), 25e9);
    EXPECT_DOUBLE_EQ(parse_rate("25GB"), 25e9);
}

TEST(Units, ATimeOrARateWithoutItsUnitIsRefusedAndToldHow) {
    for (const char* text : {"90", "1.5", "1e3"}) {
        try {
            parse_time(text);
            ADD_FAILURE() << "accepted '" << text << "'";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("90s"), std::string::npos) << error.what();
        }
        EXPECT_THROW(parse_rate(text), Error) << text;
    }
}

TEST(Units, WhatIsLeftIsSaidOnlyWhileThereIsSomething) {
    EXPECT_EQ(format_left(10'000'000'000, 0.25), "30.0 s left");
    EXPECT_EQ(format_left(10'000'000'000, 0.999), "less than 1 s left");
    EXPECT_EQ(format_left(10'000'000'000, 1), "");
    EXPECT_EQ(format_left(10'000'000'000, 0), "");
    EXPECT_EQ(format_left(0, 0.5), "");
}

TEST(Units, FiguresCarryTheirUnit) {
    EXPECT_EQ(format_size(761), "761 B");
    EXPECT_EQ(format_size(114660), "115 KB");
    EXPECT_EQ(format_size(999999), "1.00 MB");
    EXPECT_EQ(format_rate(1.25e9), "1.25 GB/s");
    EXPECT_EQ(format_time(375'000), "375 us");
    EXPECT_EQ(format_time(1'360'400'000), "1.36 s");
    EXPECT_EQ(format_time(200'000'000'000), "3 m 20 s");
    EXPECT_EQ(format_count(1281167), "1,281,167");
    EXPECT_EQ(format_count(12), "12");
    EXPECT_EQ(format_counted(0, "step"), "0 steps");
    EXPECT_EQ(format_counted(1, "batch"), "1 batch");
    EXPECT_EQ(format_counted(2, "batch"), "2 batches");
    EXPECT_EQ(format_counted(1, "class"), "1 class");
    EXPECT_EQ(format_counted(1000, "class"), "1,000 classes");
    EXPECT_EQ(format_counted(3, "directory"), "3 directories");
    EXPECT_EQ(format_per_second(0.43219), "0.432");
    EXPECT_EQ(format_per_second(17.349), "17.3");
    EXPECT_EQ(format_per_second(20116.2), "20,116");
}

TEST(Units, APercentageIsNeverRoundedToCertainty) {
    EXPECT_EQ(format_percent(1), "100.0 %");
    EXPECT_EQ(format_percent(0.99999), ">99.9 %");
    EXPECT_EQ(format_percent(0.00001), "<0.1 %");
    EXPECT_EQ(format_percent(0), "0.0 %");
    EXPECT_EQ(format_percent(0.1234), "12.3 %");
}

}  // namespace
}  // namespace feedline
