#include "packers/generate/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"

namespace feedline {
namespace {

TEST(Layout, ClassesAreBalancedAndHoldEverySampleOnce) {
    for (const std::uint64_t samples : {1U, 2U, 7U, 10U, 99U, 1000U, 1001U}) {
        for (const std::uint64_t classes : {1U, 2U, 3U, 7U, 10U, 64U, 1000U}) {
            if (classes > samples) continue;
            const DatasetLayout layout(samples, classes, ".bin");
            EXPECT_EQ(layout.first_sample(0), 0U);
            EXPECT_EQ(layout.first_sample(classes), samples);
            for (std::uint64_t c = 0; c < classes; ++c) {
                const std::uint64_t count = layout.first_sample(c + 1) - layout.first_sample(c);
                EXPECT_GE(count, samples / classes) << samples << " in " << classes;
                EXPECT_LE(count, layout.largest_class_samples());
                EXPECT_LE(layout.largest_class_samples(), samples / classes + 1);
            }
        }
    }
}

TEST(Layout, NamesLookLikeImageNets) {
    const DatasetLayout layout(100'000, 1000, ".JPEG");
    EXPECT_EQ(layout.class_name(41), "class_00041");
    EXPECT_EQ(layout.file_name(41, 7), "class_00041_0000007.JPEG");
}

TEST(Layout, NamesSortAsNumbersHoweverManyThereAre) {
    const DatasetLayout layout(3'000'000'000'000, 200'000, ".bin");
    std::vector<std::string> names;
    for (const std::uint64_t c : {0U, 2U, 10U, 9'999U, 99'999U, 100'000U, 199'999U})
        names.push_back(layout.class_name(c));
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
    const std::vector<std::string> files{layout.file_name(0, 2), layout.file_name(0, 10),
                                         layout.file_name(0, 14'999'999)};
    EXPECT_TRUE(std::is_sorted(files.begin(), files.end()));
}

TEST(Layout, WhatCannotBeSplitIsRefused) {
    const auto refused = [](std::uint64_t samples, std::uint64_t classes) {
        try {
            const DatasetLayout layout(samples, classes, ".bin");
        } catch (const Error& error) {
            return error.kind() == ErrorKind::usage;
        }
        return false;
    };
    EXPECT_TRUE(refused(0, 1));
    EXPECT_TRUE(refused(1, 0));
    EXPECT_TRUE(refused(9, 10));
    EXPECT_FALSE(refused(10, 10));
}

}  // namespace
}  // namespace feedline
