#include "loaders/decode/decoder.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/error.h"

namespace feedline {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// A grey 8 x 8 baseline JPEG, written out by hand: quantisation of all ones, one Huffman code for DC category 0 and one
// for end of block, then those two bits padded with ones.
std::string tiny_jpeg() {
    std::string jpeg("\xFF\xD8\xFF\xDB\x00\x43\x00", 7);
    jpeg += std::string(64, '\x01');
    jpeg += std::string("\xFF\xC0\x00\x0B\x08\x00\x08\x00\x08\x01\x01\x11\x00", 13);
    for (const char table : {'\x00', '\x10'}) {
        jpeg += std::string("\xFF\xC4\x00\x14", 4) + table + '\x01' + std::string(15, '\0') + '\0';
    }
    jpeg += std::string("\xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00", 10);
    return jpeg + "\x3F\xFF\xD9";
}

// A decoder, or nullptr where this build has none; then the refusal is of the right kind.
template <typename Make>
auto made(Make make) -> decltype(make()) {
    try {
        return make();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        return nullptr;
    }
}

TEST(CrcDecoder, SumsTheChecksumsInAnyOrder) {
    const auto decoder = made(make_crc_decoder);
    if (!decoder) GTEST_SKIP() << "built without isa-l";
    constexpr std::uint64_t kCheckValue = 0xE3069283;  // CRC32C of "123456789", as every catalogue of CRCs lists it
    EXPECT_EQ(decoder->decode(0, bytes_of("123456789")), "");
    EXPECT_EQ(decoder->sum(), kCheckValue);
    EXPECT_EQ(decoder->decode(1, {}), "");
    EXPECT_EQ(decoder->sum(), kCheckValue);
    EXPECT_EQ(decoder->decode(2, bytes_of("123456789")), "");
    EXPECT_EQ(decoder->sum(), 2 * kCheckValue);
    EXPECT_EQ(decoder->compared(), 0U);
}

TEST(JpegDecoder, TellsAJpegFromWhatIsNone) {
    const auto decoder = made(make_jpeg_decoder);
    if (!decoder) GTEST_SKIP() << "built without libjpeg-turbo";
    const std::string jpeg = tiny_jpeg();
    EXPECT_EQ(decoder->decode(0, bytes_of(jpeg)), "");
    EXPECT_NE(decoder->decode(1, bytes_of("version https://git-lfs.github.com/spec/v1")), "");
    EXPECT_NE(decoder->decode(2, {}), "");
    // Cut before its data, and within its header.
    EXPECT_NE(decoder->decode(3, bytes_of(std::string_view(jpeg).substr(0, jpeg.size() - 3))), "");
    EXPECT_NE(decoder->decode(4, bytes_of(std::string_view(jpeg).substr(0, 60))), "");
}

TEST(JpegDecoder, RefusesAHeaderThatClaimsAllMemory) {
    const auto decoder = made(make_jpeg_decoder);
    if (!decoder) GTEST_SKIP() << "built without libjpeg-turbo";
    std::string jpeg = tiny_jpeg();
    const std::size_t frame = jpeg.find("\xFF\xC0");
    ASSERT_NE(frame, std::string::npos);
    jpeg.replace(frame + 5, 4, "\xFF\xD0\xFF\xD0");
    EXPECT_NE(decoder->decode(0, bytes_of(jpeg)).find("65488 x 65488"), std::string::npos);
}

TEST(JpegDecoder, ServesSeveralThreads) {
    const auto decoder = made(make_jpeg_decoder);
    if (!decoder) GTEST_SKIP() << "built without libjpeg-turbo";
    const std::string jpeg = tiny_jpeg();
    std::atomic<int> wrong{0};
    constexpr std::size_t kThreads = 4;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (std::size_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
            for (SampleId i = 0; i < 50; ++i) {
                const bool good = i % 2 == 0;
                if (decoder->decode(i, bytes_of(good ? std::string_view(jpeg) : "no image")).empty() != good) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace feedline
