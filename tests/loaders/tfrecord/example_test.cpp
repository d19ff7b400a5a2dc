#include "loaders/tfrecord/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace feedline::tfrecord {
namespace {

using testing::ElementsAre;

// Protobuf's wire format, by hand: https://protobuf.dev/programming-guides/encoding/
std::string varint(std::uint64_t value) {
    std::string bytes;
    while (value >= 0x80) {
        bytes += static_cast<char>(value | 0x80U);
        value >>= 7U;
    }
    return bytes + static_cast<char>(value);
}

std::string field(unsigned number, std::string_view content) {
    return varint(number << 3U | 2U) + varint(content.size()) + std::string(content);
}

std::string entry(std::string_view name, const std::string& feature) {
    return field(1, field(1, name) + field(2, feature));
}

std::string bytes_feature(std::string_view value) {
    return field(1, field(1, value));
}

std::string packed_integers(const std::vector<std::int64_t>& values) {
    std::string numbers;
    for (const std::int64_t value : values) numbers += varint(static_cast<std::uint64_t>(value));
    return field(3, field(1, numbers));
}

std::string example_of(const std::string& entries) {
    return field(1, entries);
}

// Keeps the bytes that an Example's views point to.
struct Parsed {
    explicit Parsed(std::string payload)
        : bytes(std::move(payload)), example(Example::parse(std::as_bytes(std::span(bytes)))) {}
    std::string bytes;
    std::optional<Example> example;
};

std::string_view text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ExampleTest : public testing::Test {
protected:
    void SetUp() override {
        if (!can_parse_examples()) GTEST_SKIP() << "built without protobuf";
    }
};

TEST_F(ExampleTest, TheCommonKeysAreFound) {
    const Parsed parsed(
        example_of(entry("image/encoded", bytes_feature("JPEG")) + entry("image/class/label", packed_integers({7})) +
                   entry("image/class/text", bytes_feature("cat")) + entry("image/filename", bytes_feature("a/b.jpg")) +
                   entry("image/height", packed_integers({480}))));
    ASSERT_TRUE(parsed.example);
    EXPECT_EQ(text(parsed.example->payload().value()), "JPEG");
    EXPECT_EQ(parsed.example->label(), Label(std::int64_t{7}));
    EXPECT_EQ(parsed.example->class_text(), "cat");
    EXPECT_EQ(parsed.example->file_name(), "a/b.jpg");
    EXPECT_THAT(parsed.example->others(), ElementsAre("image/height"));
    // In place: the view points into the record.
    EXPECT_GE(text(parsed.example->payload().value()).data(), parsed.bytes.data());
    EXPECT_LT(text(parsed.example->payload().value()).data(), parsed.bytes.data() + parsed.bytes.size());
}

TEST_F(ExampleTest, NumbersArePackedOrNot) {
    const std::string one_by_one = field(3, varint(8) + varint(1) + varint(8) + varint(300));
    const std::string floats_packed = field(2, field(1, std::string("\x00\x00\x80\x3f\x00\x00\x00\x40", 8)));
    const std::string floats_single = field(2, varint(13) + std::string("\x00\x00\x80\x3f", 4));
    const Parsed parsed(example_of(entry("packed", packed_integers({1, -1, 1LL << 62U})) + entry("single", one_by_one) +
                                   entry("f", floats_packed) + entry("g", floats_single)));
    ASSERT_TRUE(parsed.example);
    EXPECT_THAT(parsed.example->find("packed")->integers, ElementsAre(1, -1, 1LL << 62U));
    EXPECT_THAT(parsed.example->find("single")->integers, ElementsAre(1, 300));
    EXPECT_THAT(parsed.example->find("f")->floats, ElementsAre(1.0F, 2.0F));
    EXPECT_THAT(parsed.example->find("g")->floats, ElementsAre(1.0F));
}

TEST_F(ExampleTest, EmptyFeaturesAndListsOccur) {
    const Parsed parsed(example_of(entry("nothing", "") + entry("empty", field(1, "")) +
                                   entry("label", packed_integers({3})) + entry("blank", bytes_feature(""))));
    ASSERT_TRUE(parsed.example);
    EXPECT_EQ(parsed.example->find("nothing")->kind, Feature::Kind::empty);
    EXPECT_EQ(parsed.example->find("empty")->kind, Feature::Kind::bytes);
    EXPECT_TRUE(parsed.example->find("empty")->bytes.empty());
    EXPECT_EQ(parsed.example->label(), Label(std::int64_t{3}));
    EXPECT_TRUE(parsed.example->payload().value().empty());
    ASSERT_EQ(parsed.example->find("blank")->bytes.size(), 1U);
}

TEST_F(ExampleTest, WithoutACommonKeyTheOnlyCandidateIsTaken) {
    const Parsed one(example_of(entry("species", packed_integers({2})) + entry("png", bytes_feature("P"))));
    EXPECT_EQ(one.example->label(), Label(std::int64_t{2}));
    EXPECT_EQ(text(one.example->payload().value()), "P");
    const Parsed two(example_of(entry("a", packed_integers({2})) + entry("b", packed_integers({3})) +
                                entry("c", bytes_feature("P")) + entry("d", bytes_feature("Q"))));
    EXPECT_EQ(two.example->label(), Label());
    EXPECT_FALSE(two.example->payload());
}

TEST_F(ExampleTest, ALabelOfSeveralIsAListAndOneInWordsIsText) {
    const Parsed several(example_of(entry("image/object/class/label", packed_integers({3, 4, 0}))));
    EXPECT_EQ(several.example->label(), Label(std::vector<std::int64_t>{3, 4, 0}));
    const Parsed words(example_of(entry("label", bytes_feature("cat"))));
    EXPECT_EQ(words.example->label(), Label("cat"));
    EXPECT_EQ(Parsed(example_of(entry("label", ""))).example->label(), Label());
}

TEST_F(ExampleTest, APayloadIsNamedAsItsFormatSays) {
    const auto name = [](std::string_view format) {
        return Parsed(example_of(entry("image/format", bytes_feature(format)))).example->payload_name();
    };
    EXPECT_EQ(name("JPEG"), "jpg");
    EXPECT_EQ(name("png"), "png");
    EXPECT_EQ(name(""), "");
    EXPECT_EQ(name("../x"), "");
    EXPECT_EQ(name(std::string(100, 'j')), "");
}

TEST_F(ExampleTest, TheRowOfATableHasNoPayloadOfItsOwn) {
    const std::string text = entry("payment", bytes_feature("Cash"));
    const std::string number = field(2, field(1, std::string(4, '\0')));
    for (const std::string& more : {entry("tips", number), entry("tags", field(1, field(1, "a") + field(1, "b"))),
                                    entry("hours", packed_integers({1, 2}))}) {
        EXPECT_FALSE(Parsed(example_of(text + more)).example->payload());
    }
    EXPECT_TRUE(Parsed(example_of(text + entry("hour", packed_integers({1})))).example->payload());
}

TEST_F(ExampleTest, ASequenceExamplesContextIsReadAndItsListsArePassedOver) {
    const Parsed parsed(field(1, entry("label", packed_integers({1})) + entry("x", bytes_feature("no payload"))) +
                        field(2, field(1, "feature lists")));
    ASSERT_TRUE(parsed.example);
    EXPECT_FALSE(parsed.example->payload());
    EXPECT_EQ(parsed.example->label(), Label(std::int64_t{1}));
}

TEST_F(ExampleTest, OtherPayloadsAreNoExample) {
    for (const std::string& payload : std::vector<std::string>{"", "1", "1 1", "plain text, longer than a tag",
                                                               std::string(64, '\xff'), std::string(64, '\0')}) {
        EXPECT_FALSE(Parsed(payload).example) << payload;
    }
}

// Cut or changed anywhere: an Example or none, and no reading beyond the end (which the sanitizers would see).
TEST_F(ExampleTest, BrokenExamplesAreHarmless) {
    const std::string whole =
        example_of(entry("image/encoded", bytes_feature("JPEG")) + entry("label", packed_integers({7, 8, 9})) +
                   entry("f", field(2, field(1, std::string(8, 'f')))));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string cut = whole.substr(0, size);
        EXPECT_FALSE(Parsed(cut).example) << size;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const int change : {1, 0x80, 0xff}) {
            std::string broken = whole;
            broken[at] = static_cast<char>(broken[at] ^ change);
            const Parsed parsed(broken);
            if (parsed.example) {
                EXPECT_LE(parsed.example->payload().value_or(std::span<const std::byte>{}).size(), broken.size());
            }
        }
    }
}

TEST_F(ExampleTest, FeaturesWithoutNumberAreNoExample) {
    constexpr std::size_t kMost = 65536;
    std::string entries;
    for (std::size_t i = 0; i < kMost; ++i) entries += field(1, "");
    EXPECT_TRUE(Parsed(example_of(entries)).example);
    EXPECT_FALSE(Parsed(example_of(entries + field(1, ""))).example);
}

}  // namespace
}  // namespace feedline::tfrecord
