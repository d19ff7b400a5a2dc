// What of a .pth file is a sample, and where its bytes lie.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "loaders/pth/pth_format.h"
#include "tests/loaders/pth/pth_lab.h"
#include "tests/loaders/pth/read_all.h"
#include "tests/testutil/memory_directory.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

class PthTest : public testing::Test {
protected:
    std::unique_ptr<Dataset> open(const std::string& content, const OpenOptions& options = {}) {
        write_file(path_, content);
        return PthFormat().open(path_, options);
    }

    // "key=bytes" of every sample, as the format's reader has them, and the same by extents where there are any.
    static std::vector<std::string> samples(const Dataset& dataset) {
        std::vector<std::string> all;
        for (SampleId id = 0; id < dataset.size(); ++id) {
            const std::string bytes = by_reader(dataset, id);
            if (dataset.has_extents()) {
                EXPECT_EQ(by_extent(dataset, id), bytes) << dataset.key(id);
            }
            all.push_back(dataset.key(id) + "=" + bytes);
        }
        return all;
    }

    Error refusal(const std::string& content) {
        try {
            open(content);
        } catch (const Error& error) {
            EXPECT_EQ(error.path(), path_) << error.what();
            return error;
        }
        ADD_FAILURE() << "nothing was thrown";
        return {ErrorKind::internal, "nothing"};
    }
    void expect_refusal(const std::string& content, ErrorKind kind, const std::string& says) {
        const Error error = refusal(content);
        EXPECT_EQ(error.kind(), kind) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(says));
    }

    TempDir directory_{memory_directory()};
    std::string path_ = directory_ / "set.pth";
};

TensorText bytes_tensor(std::int64_t size, std::string storage = "0") {
    return {.storage = std::move(storage), .type = "ByteStorage", .elements = size, .sizes = {size}, .strides = {1}};
}

TEST_F(PthTest, OurOwnLayout) {
    const auto dataset = open(packed_pth({.payloads = {"one", "", "three"},
                                          .labels = {1, 0, 1},
                                          .keys = {"dog/1.seg.png", "cat/ü", "dog/3"},
                                          .classes = {{"dog", 1}, {"cat", 0}, {"cow", 2}}}));
    EXPECT_TRUE(dataset->has_extents());
    EXPECT_THAT(samples(*dataset), ElementsAre("dog/1.seg.png=one", "cat/ü=", "dog/3=three"));
    EXPECT_EQ(dataset->info().bytes, 8U);
    EXPECT_EQ(dataset->info().layout, "packed");
    EXPECT_EQ(dataset->label(0), 1);
    EXPECT_EQ(dataset->label(1), 0);
    ASSERT_EQ(dataset->info().classes.size(), 3U);
    EXPECT_EQ(dataset->info().classes[1].name, "cow");
    EXPECT_EQ(dataset->info().classes[1].samples, 0U);
    EXPECT_EQ(dataset->info().classes[2].name, "dog");
    EXPECT_EQ(dataset->info().classes[2].samples, 2U);
    const std::string record = "one";
    const SampleViews views = dataset->views(0, std::as_bytes(std::span(record)));
    ASSERT_EQ(views.parts.size(), 1U);
    EXPECT_EQ(views.parts[0].name, "png");
    EXPECT_EQ(views.label, Label(std::int64_t{1}));
    EXPECT_EQ(views.class_name, "dog");
    EXPECT_EQ(views.original_path, "dog/1.seg.png");
}

TEST_F(PthTest, OurOwnLayoutContradictingItself) {
    const auto packed = [&](const std::vector<std::int64_t>& offsets, const std::string& more_name = "",
                            const std::string& more = "") {
        const auto count = static_cast<std::int64_t>(offsets.size());
        std::vector<std::pair<std::string, std::string>> object = {
            {"data", pickled_tensor(bytes_tensor(4))},
            {"offsets",
             pickled_tensor(
                 {.storage = "1", .type = "LongStorage", .elements = count, .sizes = {count}, .strides = {1}})}};
        if (!more.empty()) object.emplace_back(more_name, more);
        return pth_of(pickled_dict(object), {{"0", "data"}, {"1", int64_bytes(offsets)}});
    };
    EXPECT_EQ(open(packed({0, 1, 4}))->size(), 2U);
    expect_refusal(packed({0, 3, 2}), ErrorKind::corrupt, "offset 2 of sample 2 is wrong");
    expect_refusal(packed({0, 5}), ErrorKind::corrupt, "'data' has 4 bytes");
    expect_refusal(packed({-1, 4}), ErrorKind::corrupt, "offset -1");
    expect_refusal(packed({}), ErrorKind::corrupt, "'offsets' is empty");
    expect_refusal(packed({0, 4}, "keys", pickled_list({})), ErrorKind::corrupt, "'keys' has 0 entries for 1 sample");
    expect_refusal(packed({0, 4}, "labels", pickled_list({})), ErrorKind::corrupt, "'labels'");
    expect_refusal(packed({0}), ErrorKind::usage, "no tensors in this .pth file");
}

TEST_F(PthTest, RowsOfABatchAreSamples) {
    const TensorText images{.type = "ShortStorage", .elements = 6, .sizes = {3, 2}, .strides = {2, 1}};
    const StorageTexts storages = {{"0", "aAbBcCdDeEfF"}, {"1", "\7\xff\2"}};
    const TensorText labels{.storage = "1", .type = "CharStorage", .elements = 3, .sizes = {3}, .strides = {1}};
    const auto alone = open(pth_of(pickled_tensor(images), storages));
    EXPECT_THAT(samples(*alone), ElementsAre("set.pth#0=aAbB", "set.pth#1=cCdD", "set.pth#2=eEfF"));
    EXPECT_EQ(alone->label(0), std::nullopt);
    EXPECT_EQ(alone->info().layout, "rows");
    const std::vector<std::string> labelled = {
        pickled_tuple({pickled_tensor(images), pickled_tensor(labels)}),
        pickled_dict({{"images", pickled_tensor(images)}, {"labels", pickled_tensor(labels)}}),
        pickled_dict({{"y", pickled_tensor(labels)}, {"x", pickled_tensor(images)}, {"seed", pickled_number(1)}}),
        pickled_dict({{"data", pickled_tensor(images)},
                      {"targets", pickled_list({pickled_number(7), pickled_number(-1), pickled_number(2)})}}),
    };
    for (const std::string& object : labelled) {
        const auto dataset = open(pth_of(object, storages));
        EXPECT_EQ(samples(*dataset).back(), "set.pth#2=eEfF");
        EXPECT_EQ(dataset->size(), 3U);
        EXPECT_EQ(dataset->label(0), 7);
        EXPECT_EQ(dataset->label(1), -1);
    }
}

TEST_F(PthTest, LabelsThatAreNotUnderstoodAreNamed) {
    const std::string images =
        pickled_tensor({.type = "ByteStorage", .elements = 6, .sizes = {3, 2}, .strides = {2, 1}});
    const std::string one_hot =
        pickled_tensor({.type = "ByteStorage", .elements = 6, .sizes = {3, 2}, .strides = {2, 1}});
    const std::string texts = pickled_list({pickled_text("cat"), pickled_text("dog"), pickled_text("cat")});
    const std::string sample = pickled_tensor(bytes_tensor(6));
    const std::vector<std::pair<std::string, std::string>> cases = {
        {pickled_dict({{"images", images}, {"labels", texts}}), "labels: a list with text, first at 0"},
        {pickled_dict({{"images", images}, {"targets", one_hot}}), "targets: a tensor of uint8 [3, 2]"},
        {pickled_tuple({images, texts}), "1: a list with text"},
        {pickled_list({pickled_dict({{"image", sample}, {"label", pickled_number(3)}})}), "0.label"},
        {pickled_list({pickled_tuple({sample, pickled_text("cat")})}), "0.1: text"}};
    for (const auto& [object, said] : cases) {
        const auto dataset = open(pth_of(object, {{"0", "aAbBcC"}}));
        EXPECT_EQ(dataset->label(0), std::nullopt);
        ASSERT_FALSE(dataset->info().oddities.empty()) << said;
        EXPECT_THAT(dataset->info().oddities[0].kind, HasSubstr("labels are not understood"));
        EXPECT_THAT(dataset->info().oddities[0].example, HasSubstr(said));
    }
}

TEST_F(PthTest, OtherTensorsAreOneSampleEach) {
    const auto view = [](std::int64_t offset, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
        return pickled_tensor({.type = "ByteStorage",
                               .elements = 8,
                               .offset = offset,
                               .sizes = std::move(sizes),
                               .strides = std::move(strides),
                               .device = "cuda:1"});
    };
    const std::string nested = pickled_dict({
        {"a", pickled_dict({{"b", view(0, {2, 2}, {2, 1})}, {"none", "N"}})},
        {"list", pickled_list({view(4, {}, {}), pickled_tuple({view(5, {3}, {1}), pickled_number(7)})})},
        {"empty", view(8, {0, 3}, {3, 1})},
        {"p", pickled_call("torch._utils", "_rebuild_parameter",
                           {view(1, {1, 2}, {9, 1}), "\x88", pickled_call("collections", "OrderedDict", {})})},
        {"epoch", pickled_number(3)},
    });
    for (const std::string& content :
         {pth_of(nested, {{"0", "abcdefgh"}}), legacy_pth_of(nested, {{"0", "abcdefgh"}}, {1})}) {
        const auto dataset = open(content);
        EXPECT_TRUE(dataset->has_extents());
        EXPECT_THAT(samples(*dataset), ElementsAre("a.b=abcd", "list.0=e", "list.1=fgh", "empty=", "p=bc"));
        EXPECT_EQ(dataset->label(0), std::nullopt);
        EXPECT_EQ(dataset->label(2), 7);
        EXPECT_EQ(dataset->info().bytes, 10U);
        EXPECT_EQ(dataset->info().layout, "tensors");
    }
}

TEST_F(PthTest, SamplesThatLieInAnotherOrderArePutInOrder) {
    // A matrix and its transpose, a stack whose rows are strewn, every second of a list, the same row again and again.
    const auto strided = [](std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
        return pickled_tensor(
            {.type = "ShortStorage", .elements = 6, .sizes = std::move(sizes), .strides = std::move(strides)});
    };
    const StorageTexts storages = {{"0", "aAbBcCdDeEfF"}};
    const auto dict = open(pth_of(pickled_dict({{"m", strided({2, 3}, {3, 1})},
                                                {"t", strided({3, 2}, {1, 3})},
                                                {"second", strided({3}, {2})},
                                                {"again", strided({2, 2}, {0, 1})}}),
                                  storages));
    EXPECT_FALSE(dict->has_extents());
    EXPECT_EQ(dict->info().layout, "tensors, strided");
    EXPECT_THAT(samples(*dict), ElementsAre("m=aAbBcCdDeEfF", "t=aAdDbBeEcCfF", "second=aAcCeE", "again=aAbBaAbB"));
    const auto rows = open(pth_of(strided({3, 2}, {1, 3}), storages));
    EXPECT_FALSE(rows->has_extents());
    EXPECT_THAT(samples(*rows), ElementsAre("set.pth#0=aAdD", "set.pth#1=bBeE", "set.pth#2=cCfF"));
    // Neighbours in the dataset are neighbours in what the extents are of.
    std::uint64_t end = 0;
    for (SampleId id = 0; id < dict->size(); ++id) {
        Extent extent;
        dict->locate(std::span(&id, 1), std::span(&extent, 1));
        EXPECT_EQ(extent.offset_bytes, end);
        end += extent.length_bytes;
    }
    // Whole rows in another order lie in plain.
    const auto reversed = open(pth_of(strided({2, 2}, {4, 1}), storages));
    EXPECT_TRUE(reversed->has_extents());
    EXPECT_THAT(samples(*reversed), ElementsAre("set.pth#0=aAbB", "set.pth#1=eEfF"));
}

TEST_F(PthTest, SeveralFilesAreShards) {
    const std::string set = directory_ / "many";
    write_file(set + "/b.pth",
               packed_pth({.payloads = {"three"}, .labels = {5}, .keys = {"c"}, .classes = {{"k", 5}}}));
    write_file(set + "/a.pth", packed_pth({.payloads = {"one", "two"}, .keys = {"a", "b"}}));
    write_file(set + "/a.pth.samples", "not a shard");
    EXPECT_EQ(PthFormat().probe(set), Confidence::yes);
    const auto dataset = PthFormat().open(set, {});
    EXPECT_THAT(samples(*dataset), ElementsAre("a=one", "b=two", "c=three"));
    EXPECT_EQ(dataset->label(0), std::nullopt);
    EXPECT_EQ(dataset->label(2), 5);

    const std::string tensors = directory_ / "tensors";
    const std::string object =
        pickled_dict({{"w", pickled_tensor(bytes_tensor(2))},
                      {"v", pickled_tensor({.type = "ByteStorage", .elements = 2, .sizes = {2}, .strides = {0}})}});
    write_file(tensors + "/1.pt", pth_of(object, {{"0", "ab"}}));
    write_file(tensors + "/2.pt", pth_of(object, {{"0", "cd"}}));
    EXPECT_THAT(samples(*PthFormat().open(tensors + "/*.pt", {})),
                ElementsAre("1.pt#w=ab", "1.pt#v=aa", "2.pt#w=cd", "2.pt#v=cc"));

    write_file(set + "/b.pth", packed_pth({.payloads = {"3"}, .labels = {5}, .classes = {{"k", 5}}}));
    write_file(set + "/c.pth", packed_pth({.payloads = {"4"}, .labels = {6}, .classes = {{"k", 6}}}));
    EXPECT_THROW(PthFormat().open(set, {}), Error);
    write_file(set + "/c.pth", "PK\3\4" + std::string(26, '\0'));
    fs::resize_file(set + "/b.pth", 400);
    const auto rest = PthFormat().open(set, {.skip_corrupt = true});
    EXPECT_EQ(rest->size(), 2U);
}

TEST_F(PthTest, KeysAreUnique) {
    const std::string tensor = pickled_tensor(bytes_tensor(1));
    const auto dotted =
        open(pth_of(pickled_dict({{"a.b", tensor}, {"a", pickled_dict({{"b", tensor}})}}), {{"0", "x"}}));
    EXPECT_THAT(samples(*dotted), ElementsAre("a.b=x", "set.pth#1=x"));
    EXPECT_THAT(samples(*open(packed_pth({.payloads = {"1", "2"}, .keys = {"k", "k"}}))),
                ElementsAre("k=1", "set.pth#1=2"));
}

TEST_F(PthTest, WhatIsNotReadIsRefusedByName) {
    const std::string tensor = pickled_tensor(bytes_tensor(1));
    const StorageTexts storages = {{"0", "x"}};
    expect_refusal("abc", ErrorKind::usage, "its 3 bytes begin neither as a ZIP");
    expect_refusal("", ErrorKind::usage, "its 0 bytes");
    expect_refusal(zip_of({{.name = "a.txt"}}), ErrorKind::usage, "no NAME/data.pkl");
    expect_refusal(pth_of(tensor, storages, {{.name = "m/constants.pkl"}}), ErrorKind::usage, "TorchScript");
    expect_refusal(pth_of(tensor, storages, {{.name = "m/code/x.py"}}), ErrorKind::usage, "TorchScript");
    expect_refusal(
        zip_of({{.name = "m/data.pkl", .content = pickle_of("N")}, {.name = "m/byteorder", .content = "big"}}),
        ErrorKind::usage, "big-endian");
    expect_refusal(
        zip_of({{.name = "m/data.pkl", .content = pickle_of("N")}, {.name = "m/version", .content = "11\n"}}),
        ErrorKind::usage, "version 11");
    expect_refusal(zip_of({{.name = "m/data.pkl", .content = pickle_of("N"), .method = 8}}), ErrorKind::usage,
                   "entry m/data.pkl is compressed");
    expect_refusal(pth_of(pickled_call("torch._utils", "_rebuild_qtensor", {}), {}), ErrorKind::usage,
                   "a quantized tensor");
    expect_refusal(pth_of(pickled_global("__main__", "Net"), {}), ErrorKind::usage, "__main__.Net");
    expect_refusal(pth_of("N", {}), ErrorKind::usage, "no tensors");
    expect_refusal("version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') + "\nsize 123\n",
                   ErrorKind::corrupt, "Git LFS pointer");
    std::string tar(10240, '\0');
    tar.replace(0, 8, "sys_info");
    tar.replace(257, 5, "ustar");
    expect_refusal(tar, ErrorKind::usage, "before 0.1.10");
    EXPECT_EQ(PthFormat().probe(path_), Confidence::yes);
}

TEST_F(PthTest, TensorsStayInTheirStorageAndTheirFile) {
    constexpr std::int64_t kHuge = std::int64_t{1} << 62;
    const auto with = [&](TensorText tensor) {
        tensor.type = "ByteStorage";
        if (tensor.elements == 0) tensor.elements = 8;
        return pth_of(pickled_tensor(tensor), {{"0", "abcdefgh"}});
    };
    expect_refusal(with({.offset = 1, .sizes = {8}, .strides = {1}}), ErrorKind::corrupt,
                   "beyond its storage 0: 9 of 8");
    expect_refusal(with({.sizes = {kHuge}, .strides = {1}}), ErrorKind::corrupt, "beyond its storage");
    expect_refusal(with({.sizes = {kHuge}, .strides = {0}}), ErrorKind::corrupt, "more than the file has");
    expect_refusal(with({.sizes = {kHuge, kHuge}, .strides = {0, 0}}), ErrorKind::corrupt, "counted");
    expect_refusal(with({.sizes = {2}, .strides = {(kHuge - 1) * 2}}), ErrorKind::corrupt, "beyond its storage");
    expect_refusal(with({.sizes = {kHuge, 0}, .strides = {0, 0}}), ErrorKind::corrupt, "rows, more than the file");
    expect_refusal(with({.sizes = {-1}, .strides = {1}}), ErrorKind::corrupt, "number");
    expect_refusal(with({.sizes = {1, 1}, .strides = {1}}), ErrorKind::corrupt, "strides");
    expect_refusal(with({.elements = 9, .sizes = {1}, .strides = {1}}), ErrorKind::corrupt, "storage 0 has 8 bytes");
    expect_refusal(with({.elements = kHuge, .sizes = {1}, .strides = {1}}), ErrorKind::corrupt,
                   "storage 0 has 8 bytes");
    expect_refusal(with({.storage = "1", .sizes = {1}, .strides = {1}}), ErrorKind::corrupt, "no storage 1");
}

TEST_F(PthTest, BombsOfSharedValuesEnd) {
    const std::string tensor = pickled_tensor(bytes_tensor(1));
    std::string doubled = "N";
    for (int i = 0; i < 50; ++i) doubled += "2\x86";
    expect_refusal(pth_of(doubled, {}), ErrorKind::corrupt, "again and again");
    std::string deep = tensor;
    for (int i = 0; i < 100'000; ++i) deep += '\x85';
    expect_refusal(pth_of(deep, {{"0", "x"}}), ErrorKind::usage, "deep in each other");
    // A list of itself.
    expect_refusal(pth_of("]2a", {}), ErrorKind::usage, "deep in each other");
    // One long name for many samples.
    std::string names = pickled_text(std::string(100'000, 'n')) + "q" + '\0' + "0" + tensor + "q\x01" + "0](";
    for (int i = 0; i < 10'000; ++i) names += std::string("}h\0h\x01s", 6);
    expect_refusal(pth_of(names + "e", {{"0", "x"}}), ErrorKind::corrupt, "names");
}

TEST_F(PthTest, ChecksumsOfWholeStoragesAreChecked) {
    const std::string object =
        pickled_dict({{"whole", pickled_tensor(bytes_tensor(4))},
                      {"part", pickled_tensor({.type = "ByteStorage", .elements = 4, .sizes = {2}, .strides = {1}})}});
    const auto dataset = open(pth_of(object, {{"0", "good"}}));
    const auto check = [&](SampleId id, const std::string& record) {
        return dataset->check(id, std::as_bytes(std::span(record)));
    };
    EXPECT_EQ(check(0, "good"), "");
    EXPECT_THAT(check(0, "goOd"), HasSubstr("CRC32"));
    EXPECT_EQ(check(1, "gO"), "");
}

// What a damaged file may say: an error, or the same samples in the same places.
class DamagedPth : public PthTest, public testing::WithParamInterface<std::string> {
protected:
    struct Seen {
        std::vector<std::string> samples;
        auto operator<=>(const Seen&) const = default;
    };
    std::string intact() const {
        if (GetParam() == "packed") {
            return packed_pth({.payloads = {"one", "", "three"},
                               .labels = {1, 0, 1},
                               .keys = {"a", "b", "c"},
                               .classes = {{"k", 1}}});
        }
        const std::string object = pickled_dict(
            {{"a", pickled_tensor(
                       {.type = "ShortStorage",
                        .elements = 4,
                        .sizes = {2, 2},
                        .strides = {GetParam() == "legacy strided" ? 1 : 2, GetParam() == "legacy strided" ? 2 : 1}})},
             {"b",
              pickled_tensor({.storage = "1", .type = "ByteStorage", .elements = 3, .sizes = {3}, .strides = {1}})}});
        const StorageTexts storages = {{"0", "aAbBcCdD"}, {"1", "xyz"}};
        return GetParam() == "dict" ? pth_of(object, storages) : legacy_pth_of(object, storages, {2, 1});
    }
    // Key, label and length of every sample; empty where the file is refused.
    std::vector<std::string> look(const std::string& content) {
        std::vector<std::string> seen;
        try {
            const auto dataset = open(content);
            for (SampleId id = 0; id < dataset->size(); ++id) {
                seen.push_back(fmt::format("{} {} {}", dataset->key(id), dataset->label(id).value_or(-1),
                                           by_reader(*dataset, id)));
            }
        } catch (const Error& error) {
            EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
            return {};
        }
        return seen;
    }
};

TEST_P(DamagedPth, EveryTruncationIsAnError) {
    const std::string content = intact();
    ASSERT_FALSE(look(content).empty());
    for (std::size_t length = 0; length < content.size(); ++length) {
        EXPECT_TRUE(look(content.substr(0, length)).empty()) << length;
    }
}

TEST_P(DamagedPth, EveryFlippedByteEndsInAnErrorOrTheRightAnswer) {
    const std::string content = intact();
    const std::vector<std::string> right = look(content);
    std::size_t others = 0;
    for (std::size_t i = 0; i < content.size(); ++i) {
        for (const int mask : {0x01, 0x80, 0xff}) {
            std::string flipped = content;
            flipped[i] = static_cast<char>(flipped[i] ^ mask);
            const std::vector<std::string> seen = look(flipped);
            others += !seen.empty() && seen != right ? 1U : 0U;
        }
    }
    // Payloads themselves have no checksum of their own ("onethree", "aAbBcCdDxyz"); the older form has none at all,
    // so that there a name, a stride or a type may be another one and make sense.
    const std::size_t payload = GetParam() == "packed" ? 8 : 11;
    if (GetParam().starts_with("legacy")) {
        EXPECT_GE(others, 3 * payload);
    } else {
        EXPECT_EQ(others, 3 * payload);
    }
}

INSTANTIATE_TEST_SUITE_P(Forms, DamagedPth, testing::Values("packed", "dict", "legacy", "legacy strided"),
                         [](const auto& form) {
                             return std::string(form.param).substr(0, form.param.find(' ')) +
                                    (form.param.find(' ') != std::string::npos ? "_strided" : "");
                         });

}  // namespace
}  // namespace feedline
