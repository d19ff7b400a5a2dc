// Pickles as Python wrote them, and as nobody should.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "loaders/pickle/machine.h"
#include "loaders/pickle/surrogates.h"

namespace feedline::pickle {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string from_hex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    }
    return bytes;
}

Error refusal(const std::string& pickle, const ParseOptions& options = {.path = "p", .file_offset_bytes = 1000}) {
    try {
        parse(bytes_of(pickle), options);
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return {ErrorKind::internal, "nothing"};
}

// What CPython 3.11's pickle.dumps(v, protocol) gave of
//   {'n': None, 'b': True, 'i': [0, 255, 65535, -1, 2**31, -2**40, 2**80], 'f': 0.5, 't': ('a', (), (1, 2), (1, 2, 3,
//   4)),
//    'y': b'\x00\xff\x80', 's': {7}, 'o': collections.OrderedDict([('k', 'ü')])}
constexpr std::string_view kProtocol2 =
    "80027d71002858010000006e71014e58010000006271028858010000006971035d7104284b004bff4dffff4affffffff8a0500000080008a06"
    "0000000000ff8a0b0000000000000000000001655801000000667105473fe00000000000005801000000747106285801000000617107294b01"
    "4b02867108284b014b024b034b0474710974710a580100000079710b635f636f646563730a656e636f64650a710c580500000000c3bfc28071"
    "0d58060000006c6174696e31710e86710f5271105801000000737111635f5f6275696c74696e5f5f0a7365740a71125d71134b076185711452"
    "711558010000006f711663636f6c6c656374696f6e730a4f726465726564446963740a71172952711858010000006b71195802000000c3bc71"
    "1a73752e";
constexpr std::string_view kProtocol4 =
    "800495ac000000000000007d94288c016e944e8c016294888c0169945d94284b004bff4dffff4affffffff8a0500000080008a060000000000"
    "ff8a0b0000000000000000000001658c016694473fe00000000000008c017494288c016194294b014b028694284b014b024b034b0474947494"
    "8c017994430300ff80948c0173948f94284b07908c016f948c0b636f6c6c656374696f6e73948c0b4f726465726564446963749493942952"
    "948c016b948c02c3bc9473752e";

class PickleOfPython : public testing::TestWithParam<std::string_view> {};

TEST_P(PickleOfPython, HoldsWhatWasSaved) {
    const std::string pickle = from_hex(GetParam()) + "behind";
    const Tree tree = parse(bytes_of(pickle), {});
    EXPECT_EQ(tree.consumed_bytes(), pickle.size() - 6);
    const Value root = tree.root();
    ASSERT_EQ(root.kind(), Kind::dict);
    ASSERT_EQ(root.size(), 8U);
    EXPECT_EQ(root.entry(0).first.plain(), "n");
    EXPECT_EQ(root.find("n")->kind(), Kind::none);
    EXPECT_EQ(root.find("b")->kind(), Kind::boolean);
    EXPECT_EQ(root.find("b")->integer(), 1);
    const Value integers = *root.find("i");
    const std::vector<std::int64_t> expected = {0, 255, 65535, -1, std::int64_t{1} << 31, -(std::int64_t{1} << 40)};
    ASSERT_EQ(integers.size(), expected.size() + 1);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(integers[i].integer(), expected[i]);
    EXPECT_EQ(integers[6].integer(), std::nullopt);
    EXPECT_EQ(integers[6].long_integer().size(), 11U);
    EXPECT_EQ(root.find("f")->kind(), Kind::real);
    const Value tuple = *root.find("t");
    ASSERT_EQ(tuple.size(), 4U);
    EXPECT_EQ(tuple[0].plain(), "a");
    EXPECT_EQ(tuple[1].size(), 0U);
    EXPECT_EQ(tuple[2][1].integer(), 2);
    EXPECT_EQ(tuple[3][3].integer(), 4);
    EXPECT_EQ(root.find("y")->bytes(), std::string("\0\xff\x80", 3));
    EXPECT_EQ(root.find("s")->kind(), Kind::set);
    EXPECT_EQ((*root.find("s"))[0].integer(), 7);
    EXPECT_EQ(root.find("o")->find("k")->plain(), "ü");
    EXPECT_FALSE(root.find("x").has_value());
}

TEST_P(PickleOfPython, EveryTruncationIsAnError) {
    const std::string pickle = from_hex(GetParam());
    for (std::size_t length = 0; length < pickle.size(); ++length) {
        const Error error = refusal(pickle.substr(0, length));
        EXPECT_EQ(error.kind(), ErrorKind::corrupt) << length << ": " << error.what();
        EXPECT_GE(error.offset_bytes(), 1000U);
    }
}

INSTANTIATE_TEST_SUITE_P(Protocols, PickleOfPython, testing::Values(kProtocol2, kProtocol4));

TEST(Pickle, WhatIsNotOnTheListIsRefusedByNameAndOffset) {
    struct Case {
        std::string pickle;
        std::string says;
        std::uint64_t offset;
    };
    const std::vector<Case> cases = {
        {"\x80\x02"
         "cos\nsystem\nX\x02\0\0\0ls\x85R."s,
         "os.system", 1002},
        {"\x80\x04\x8c\x05posix\x8c\x06system\x93.", "posix.system", 1017},
        {"\x80\x02(ios\nsystem\n.", "INST", 1003},
        {"\x80\x02(I5\n.", "INT", 1003},
        {"\x80\x02S'a'\n.", "STRING", 1002},
        {"\x80\x02(cbuiltins\nset\no.", "OBJ", 1017},
        {"\x80\x02\x82\x01.", "EXT1", 1002},
        {"\x80\x05\x97.", "NEXT_BUFFER", 1002},
        {"\x80\x02]Nb.", "BUILD", 1004},
        {"\x80\x02NQ.", "BINPERSID", 1003},
        {"\x80\x09N.", "protocol 9", 1000},
        {"\x80\x02"
         "c_codecs\nencode\nX\1\0\0\0aX\5\0\0\0utf-8\x86R."s,
         "encoding", 1035},
    };
    for (const Case& one : cases) {
        const Error error = refusal(one.pickle);
        EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(one.says));
        EXPECT_EQ(error.offset_bytes(), one.offset) << error.what();
    }
}

TEST(Pickle, WhatMakesNoSenseIsCorrupt) {
    const std::vector<std::string> cases = {
        "",       // nothing
        ".",      // nothing was left
        "\xff.",  // no opcode
        "t.",     // no mark
        "(N(N\x85"
        "0\x86.",                              // a value below a mark
        "h\x05.",                              // not remembered
        "r\xff\xff\xff\xffN.",                 // remembers nothing
        "Nr\xff\xff\xff\xff.",                 // a memo of 4 G entries
        "NNa.",                                // None.append
        "}N(Nu.",                              // a key without a value, below a mark
        "}(Nu.",                               // a key without a value
        "NNR.",                                // None()
        "ccollections\nOrderedDict\nNR.",      // no arguments
        "ccollections\nOrderedDict\nN\x85R.",  // of no pairs
        "c\xff",                               // a name without an end
        "X\xff\xff\xff\xff.",                  // 4 GiB of text
        "\x8e\xff\xff\xff\xff\xff\xff\xff\xff.",
        "\x8b\xff\xff\xff\xff.",
    };
    for (const std::string& pickle : cases) {
        const Error error = refusal(pickle);
        EXPECT_EQ(error.kind(), ErrorKind::corrupt) << error.what();
    }
}

TEST(Pickle, DepthCostsNoStack) {
    constexpr std::size_t kDepth = 2'000'000;
    const std::string pickle = std::string(kDepth, ']') + std::string(kDepth - 1, 'a') + ".";
    EXPECT_EQ(parse(bytes_of(pickle), {}).root().size(), 1U);
}

// A list of itself twice, thirty times over: 2^30 leaves, thirty values.
TEST(Pickle, WhatIsSharedIsKeptOnce) {
    std::string pickle = "]";
    for (int i = 0; i < 30; ++i) pickle += "2\x86";
    EXPECT_LT(parse(bytes_of(pickle + "."), {}).values(), 100U);
}

TEST(Pickle, CopiesOfWhatIsSharedAreBounded) {
    std::string pickle = "](";
    for (int i = 0; i < 10'000; ++i) pickle += 'N';
    pickle += "eq";
    pickle += '\0';
    pickle +=
        "0c__builtin__\nset\nq\x01"
        "0";
    for (int i = 0; i < 10'000; ++i) pickle += std::string("h\x01h\0\x85R0", 7);
    const Error error = refusal(pickle + "N.");
    EXPECT_EQ(error.kind(), ErrorKind::corrupt) << error.what();
}

TEST(Pickle, EveryFlippedByteEnds) {
    for (const std::string_view hex : {kProtocol2, kProtocol4}) {
        const std::string pickle = from_hex(hex);
        for (std::size_t i = 0; i < pickle.size() * 8; ++i) {
            std::string flipped = pickle;
            flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
            try {
                parse(bytes_of(flipped), {.persistent_ids = true});
            } catch (const Error& error) {
                EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
            }
        }
    }
}

// os.fsdecode() and os.fsencode() of CPython 3.11.
TEST(Surrogates, StandForBytesThatAreNotUtf8) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"plain/\xc3\xbc\xe7\x8c\xab\xf0\x9f\x90\x88", "plain/\xc3\xbc\xe7\x8c\xab\xf0\x9f\x90\x88"},
        {"\xff", "\xed\xb3\xbf"},
        {"\x80z", "\xed\xb2\x80z"},
        {"\xc0\xaf", "\xed\xb3\x80\xed\xb2\xaf"},                                  // not the shortest form
        {"\xed\xb3\xbf", "\xed\xb3\xad\xed\xb2\xb3\xed\xb2\xbf"},                  // a surrogate already
        {"\xe7\x8c", "\xed\xb3\xa7\xed\xb2\x8c"},                                  // cut
        {"\xf4\x90\x80\x80", "\xed\xb3\xb4\xed\xb2\x90\xed\xb2\x80\xed\xb2\x80"},  // beyond Unicode
    };
    for (const auto& [bytes, text] : cases) {
        EXPECT_EQ(escape_surrogates(bytes), text);
        EXPECT_EQ(unescape_surrogates(text), bytes);
    }
}

}  // namespace
}  // namespace feedline::pickle
