#include "core/similar.h"

#include <gtest/gtest.h>

namespace feedline {
namespace {

const std::vector<std::string> kKnown{"idle.fraction",      "idle.seconds",  "idle.steady_fraction",
                                      "samples_per_second", "cache.verdict", "queue-depth"};

TEST(Similar, AMistypedNameIsRecognised) {
    EXPECT_EQ(similar_names("idle.fracton", kKnown).front(), "idle.fraction");
    EXPECT_EQ(similar_names("queue-dpeth", kKnown).front(), "queue-depth");
    EXPECT_EQ(similar_names("samples_per_sec", kKnown).front(), "samples_per_second");
}

TEST(Similar, APartLeadsToTheWhole) {
    EXPECT_EQ(similar_names("verdict", kKnown), (std::vector<std::string>{"cache.verdict"}));
    EXPECT_EQ(similar_names("idle", kKnown).size(), 3U);
    EXPECT_EQ(similar_names("idel", kKnown).size(), 3U) << "two letters swapped";
    EXPECT_EQ(similar_names("depth", kKnown), (std::vector<std::string>{"queue-depth"}));
}

TEST(Similar, WhatIsFarFromAllLeadsNowhere) {
    EXPECT_TRUE(similar_names("frobnicate", kKnown).empty());
    EXPECT_TRUE(similar_names("", kKnown).empty());
    EXPECT_TRUE(similar_names(std::string(100'000, 'i'), kKnown).empty());
}

TEST(Similar, ReadsAsAQuestion) {
    EXPECT_EQ(did_you_mean("verdict", kKnown), "; did you mean cache.verdict?");
    EXPECT_EQ(did_you_mean("idle", kKnown), "; did you mean idle.fraction, idle.seconds or idle.steady_fraction?");
    EXPECT_EQ(did_you_mean("frobnicate", kKnown), "");
}

}  // namespace
}  // namespace feedline
