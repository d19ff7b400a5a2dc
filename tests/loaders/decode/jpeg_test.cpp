// Real JPEGs of every kind that a dataset may hold, made here by libjpeg-turbo.
#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "loaders/decode/decoder.h"

namespace feedline {
namespace {

struct Picture {
    int width = 64;
    int height = 48;
    int format = TJPF_RGB;
    int subsampling = TJSAMP_420;
    int flags = 0;
};

// Noise, so that a file has data of some length.
std::string encoded(const Picture& picture) {
    const auto bytes = static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height) *
                       static_cast<std::size_t>(tjPixelSize[picture.format]);
    std::vector<unsigned char> pixels(bytes);
    std::mt19937 random(1);
    for (unsigned char& value : pixels) value = static_cast<unsigned char>(random());
    const std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitCompress(), &tjDestroy);
    unsigned char* out = nullptr;
    unsigned long size = 0;
    constexpr int kQuality = 90;
    const int failed = tjCompress2(handle.get(), pixels.data(), picture.width, 0, picture.height, picture.format, &out,
                                   &size, picture.subsampling, kQuality, picture.flags);
    EXPECT_EQ(failed, 0) << tjGetErrorStr2(handle.get());
    std::string jpeg(reinterpret_cast<const char*>(out), size);
    tjFree(out);
    return jpeg;
}

// What is wrong with it, or "".
std::string problem(std::string_view jpeg) {
    return make_jpeg_decoder()->decode(0, std::as_bytes(std::span(jpeg.data(), jpeg.size())));
}

int colorspace_of(const std::string& jpeg) {
    const std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitDecompress(), &tjDestroy);
    int width = 0;
    int height = 0;
    int subsampling = 0;
    int colorspace = -1;
    tjDecompressHeader3(handle.get(), reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size(), &width, &height,
                        &subsampling, &colorspace);
    return colorspace;
}

TEST(JpegKinds, ColourGreyAndProgressive) {
    EXPECT_EQ(problem(encoded({})), "");
    EXPECT_EQ(problem(encoded({.subsampling = TJSAMP_444})), "");
    EXPECT_EQ(problem(encoded({.subsampling = TJSAMP_422})), "");
    EXPECT_EQ(problem(encoded({.format = TJPF_GRAY, .subsampling = TJSAMP_GRAY})), "");
    EXPECT_EQ(problem(encoded({.flags = TJFLAG_PROGRESSIVE})), "");
    EXPECT_EQ(problem(encoded({.width = 1, .height = 1})), "");
}

TEST(JpegKinds, FourInks) {
    const std::string ycck = encoded({.format = TJPF_CMYK, .subsampling = TJSAMP_444});
    ASSERT_EQ(colorspace_of(ycck), TJCS_YCCK);
    EXPECT_EQ(problem(ycck), "");
    EXPECT_EQ(problem(encoded({.format = TJPF_CMYK, .subsampling = TJSAMP_420})), "");
    // Adobe's marker says how the inks are transformed: 2 is YCCK, 0 is not at all. It is the last byte of "Adobe" + 7.
    std::string cmyk = ycck;
    const std::size_t adobe = cmyk.find("Adobe");
    ASSERT_NE(adobe, std::string::npos);
    ASSERT_EQ(cmyk[adobe + 11], '\x02');
    cmyk[adobe + 11] = '\0';
    ASSERT_EQ(colorspace_of(cmyk), TJCS_CMYK);
    EXPECT_EQ(problem(cmyk), "");
    EXPECT_NE(problem(cmyk.substr(0, cmyk.size() / 2)), "");
}

TEST(JpegKinds, TheLongestSidesThatTheLibraryKnows) {
    constexpr int kLongest = 65500;
    EXPECT_EQ(problem(encoded({.width = kLongest, .height = 1})), "");
    EXPECT_EQ(problem(encoded({.width = 1, .height = kLongest})), "");
    // Sides of 16 bits that it does not: a claim in the header, where the height stands before the width.
    std::string longer = encoded({.width = 16, .height = 16, .subsampling = TJSAMP_444});
    const std::size_t frame = longer.find("\xFF\xC0");
    ASSERT_NE(frame, std::string::npos);
    longer.replace(frame + 7, 2, "\xFF\xFF");
    const std::string refused = problem(longer);
    EXPECT_NE(refused, "");
    EXPECT_EQ(refused.find('\n'), std::string::npos) << refused;
}

TEST(JpegDamage, CutOffAnywhereIsAnError) {
    for (const int flags : {0, TJFLAG_PROGRESSIVE}) {
        const std::string jpeg = encoded({.flags = flags});
        for (const std::size_t share : {1U, 3U, 5U, 7U, 9U}) {
            EXPECT_NE(problem(std::string_view(jpeg).substr(0, jpeg.size() * share / 10)), "") << share << "0 %";
        }
        // Without the end marker alone, and with half of it.
        EXPECT_NE(problem(std::string_view(jpeg).substr(0, jpeg.size() - 2)), "");
    }
}

TEST(JpegDamage, WhatLiesBetweenAndBehindIsNot) {
    const std::string jpeg = encoded({});
    EXPECT_EQ(problem(jpeg + std::string(1000, '\0')), "") << "padding behind the end";
    std::string extra = jpeg;
    extra.insert(2, "stray");
    EXPECT_EQ(problem(extra), "") << "bytes between two segments, of which the library warns";
}

TEST(JpegDamage, AHarmlessWarningDoesNotHideMissingData) {
    const std::string jpeg = encoded({});
    std::string extra = jpeg.substr(0, jpeg.size() / 2);
    extra.insert(2, "stray");
    EXPECT_NE(problem(extra).find("cut off"), std::string::npos) << problem(extra);
}

TEST(JpegDamage, ABadPictureDoesNotSpoilTheNext) {
    const std::string jpeg = encoded({});
    for (std::size_t length = 0; length < jpeg.size(); length += length < 700 ? 1 : 97) {
        EXPECT_NE(problem(std::string_view(jpeg).substr(0, length)), "") << length;
        EXPECT_EQ(problem(jpeg), "") << "after one cut off at " << length;
    }
}

TEST(JpegDamage, AnyByteMayBeWrongWithoutHarmToTheProcess) {
    const std::string jpeg = encoded({.width = 32, .height = 32});
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::string damaged = jpeg;
        damaged[random() % damaged.size()] = static_cast<char>(random());
        EXPECT_EQ(problem(damaged).find('\n'), std::string::npos);
    }
}

}  // namespace
}  // namespace feedline
