#include "loaders/tfrecord/framing.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/little_endian.h"
#include "tests/loaders/tfrecord/tfrecord_lab.h"

namespace feedline::tfrecord {
namespace {

// The first two records that Google's grain has in a test file of its own, written by TensorFlow.
constexpr std::array<unsigned char, 36> kGolden = {
    0x01, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x75, 0xde, 0x41, 0x31, 0xc3, 0x0c, 0x4a, 0xd6,              // "1"
    0x03, 0, 0, 0, 0, 0, 0, 0, 0xb0, 0x99, 0x49, 0x0e, 0x31, 0x20, 0x31, 0x59, 0xbe, 0xd8, 0xde,  // "1 1"
};

TEST(TfrecordFraming, WritesWhatTensorFlowWrites) {
    const std::string ours = test::framed("1") + test::framed("1 1");
    const std::string theirs(reinterpret_cast<const char*>(kGolden.data()), kGolden.size());
    EXPECT_EQ(ours, theirs);
}

TEST(TfrecordFraming, HeadersOfAnyLengthComeBack) {
    for (const std::uint64_t length : {0ULL, 1ULL, 511ULL, 4096ULL, 1ULL << 32U, (1ULL << 63U) + 5}) {
        EXPECT_EQ(parse_header(make_header(length)), length);
    }
}

TEST(TfrecordFraming, AnyFlippedBitIsSeen) {
    const std::string record = test::framed("some payload");
    for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
        std::string broken = record;
        broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
        const std::span bytes = std::as_bytes(std::span(broken));
        const bool header = parse_header(bytes.first<kHeaderBytes>()).has_value();
        const bool footer = footer_fits(bytes.subspan(kHeaderBytes, bytes.size() - kFramingBytes), bytes.last<4>());
        EXPECT_FALSE(header && footer) << "bit " << bit;
    }
}

TEST(LittleEndian, IsTheLeastSignificantByteFirst) {
    std::array<std::byte, 8> bytes{};
    store_le<std::uint64_t>(0x0807060504030201, bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(i + 1));
    EXPECT_EQ(load_le<std::uint64_t>(bytes), 0x0807060504030201U);
    EXPECT_EQ(load_le<std::uint16_t>(bytes), 0x0201U);
    EXPECT_EQ(load_le<std::uint8_t>(bytes), 1U);
}

}  // namespace
}  // namespace feedline::tfrecord
