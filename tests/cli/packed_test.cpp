// Packed formats through the program: recognised, measured, checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/bench_fixture.h"
#include "tests/loaders/formats/dataset_makers.h"

namespace feedline::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class Packed : public testing::TestWithParam<FormatMaker> {
protected:
    Packed() {
        for (unsigned i = 0; i < 90; ++i) payloads_.push_back(pattern(1000 + 97 * i, i));
        GetParam().write(data_, payloads_, 30);
    }
    Ended bench(std::vector<std::string> more) const {
        std::vector<std::string> arguments = {"bench", data_, "--no-controls", "--batch-size", "10",
                                              "--crc", "all", "--json",        json_};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_program(arguments);
    }

    TempDir dir_;
    std::string data_ = dir_ / "data";
    std::string json_ = dir_ / "result.json";
    std::vector<std::string> payloads_;
};

TEST_P(Packed, EveryEngineMeasuresIt) {
    const Ended ended = bench({"--engine", "all", "--step-time", "100us"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const Json results = results_in(json_);
    ASSERT_GE(results.size(), GetParam().extents ? 2U : 1U);
    for (const Json& result : results) {
        EXPECT_EQ(result.at("dataset").at("format"), GetParam().format);
        EXPECT_EQ(result.at("dataset").at("shards"), 3);
        expect_sound(result.at("epochs").at(0), 90);
    }
}

TEST_P(Packed, ACutShardIsNamedWithItsOffsetOrSkipped) {
    std::vector<std::string> shards;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data_)) {
        if (entry.is_regular_file() && entry.file_size() > 10'000) shards.push_back(entry.path());
    }
    std::filesystem::resize_file(shards.front(), std::filesystem::file_size(shards.front()) - 3500);
    const Ended stopped = bench({});
    EXPECT_EQ(stopped.exit_code, 5);
    EXPECT_EQ(lines_in(stopped.err), 1U) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr(shards.front() + " at offset"));
    const Ended skipped = bench({"--on-error", "skip"});
    EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
    // How many records a compressed stream loses is its own affair.
    const Json samples = results_in(json_).at(0).at("dataset").at("samples");
    if (!GetParam().readable_up_to_a_cut) {
        EXPECT_EQ(samples, 60);
    } else if (GetParam().extents) {
        EXPECT_EQ(samples, 89);
    } else {
        EXPECT_GE(samples, 80);
        EXPECT_LE(samples, 89);
    }
    const std::string kind = GetParam().readable_up_to_a_cut ? "truncated shard" : "broken shard";
    EXPECT_THAT(skipped.out, HasSubstr(" never arrived: 1 " + kind + " (while "));
    const std::uint64_t lost = results_in(json_).at(0).at("dataset").at("lost_samples");
    if (GetParam().readable_up_to_a_cut) {
        EXPECT_GE(lost, 1U);
    } else {
        // 30 of larger samples than the others are.
        EXPECT_GE(lost, 20U);
        EXPECT_LE(lost, 80U);
    }
}

std::string name_of(const testing::TestParamInfo<FormatMaker>& maker) {
    return maker.param.format + maker.param.variant;
}

std::vector<FormatMaker> packed_formats() {
    std::vector<FormatMaker> packed;
    for (const FormatMaker& maker : format_makers()) {
        if (maker.format != "files") packed.push_back(maker);
    }
    return packed;
}

INSTANTIATE_TEST_SUITE_P(Formats, Packed, testing::ValuesIn(packed_formats()), name_of);

}  // namespace
}  // namespace feedline::test
