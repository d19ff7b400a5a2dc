// feedline pack, verify and inspect as a person meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "packers/packer.h"
#include "tests/cli/program.h"
#include "tests/loaders/formats/dataset_makers.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

class PackCli : public ::testing::Test {
protected:
    void SetUp() override {
        for (unsigned i = 0; i < 20; ++i) {
            write_file(dir_ / "source/class" + std::to_string(i % 2) + "/" + std::to_string(i) + ".jpg",
                       pattern(1000 + i, i));
        }
    }
    Ended packed(const std::vector<std::string>& more = {}) {
        std::vector<std::string> words = {"pack", dir_ / "source", dir_ / "packed", "--format", "tfrecord"};
        words.insert(words.end(), more.begin(), more.end());
        return run_program(words);
    }
    TempDir dir_;
};

TEST_F(PackCli, PacksVerifiesInspectsAndMeasures) {
    const Ended pack =
        run_program({"pack", dir_ / "source", dir_ / "packed", "--format", "webdataset", "--shards", "2", "--json"});
    EXPECT_EQ(pack.exit_code, 0) << pack.err;
    EXPECT_EQ(json::parse(pack.out).at("samples"), 20);
    const Ended verify = run_program({"verify", dir_ / "packed", "--against", dir_ / "source"});
    EXPECT_EQ(verify.exit_code, 0);
    EXPECT_THAT(verify.out, HasSubstr("20 samples compared"));
    const Ended inspect = run_program({"inspect", dir_ / "packed"});
    EXPECT_EQ(inspect.exit_code, 0);
    EXPECT_THAT(inspect.out, HasSubstr("webdataset, packed by feedline"));
    const json description = json::parse(run_program({"inspect", dir_ / "packed", "--json"}).out);
    EXPECT_EQ(description.at("samples"), 20);
    EXPECT_EQ(description.at("shards"), 2);
    EXPECT_EQ(description.at("classes").at(1).at("name"), "class1");
    EXPECT_EQ(description.at("first").at(0).at("label"), 0);
    EXPECT_EQ(run_program({"bench", dir_ / "packed", "--batch-size", "4", "--no-controls", "--crc", "all"}).exit_code,
              0);
}

TEST_F(PackCli, ADryRunWritesNothing) {
    const Ended run = packed({"--dry-run", "--json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_GT(json::parse(run.out).at("estimated_bytes"), 20'000);
    EXPECT_FALSE(fs::exists(dir_ / "packed"));
    EXPECT_FALSE(fs::exists(dir_ / "packed.incomplete"));
    EXPECT_THAT(packed({"--dry-run"}).out, HasSubstr("as far as a few samples show, read "));
}

TEST_F(PackCli, ADryRunSaysWhatIsThereAlready) {
    ASSERT_EQ(packed().exit_code, 0);
    const Ended refused = packed({"--dry-run"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("holds a packed dataset already"));
    EXPECT_THAT(packed({"--dry-run", "--resume"}).out, HasSubstr("nothing to do"));
    EXPECT_THAT(packed({"--dry-run", "--overwrite"}).out, HasSubstr("would be replaced"));
    write_file(dir_ / "packed.incomplete/thesis", "");
    EXPECT_THAT(packed({"--dry-run", "--overwrite"}).err, HasSubstr("in the way"));
}

TEST_F(PackCli, JsonTellsFailuresTooAndIsNotSilencedByQuiet) {
    EXPECT_EQ(json::parse(packed({"--json", "--quiet"}).out).at("samples"), 20);
    write_file(dir_ / "packed/feedline.manifest.json", "{}");
    const std::vector<std::vector<std::string>> failing = {{"pack", dir_ / "packed", dir_ / "x", "--format", "pth"},
                                                           {"pack", dir_ / "source", dir_ / "no/x", "--format", "pth"},
                                                           {"verify", dir_ / "nowhere"},
                                                           {"inspect", dir_ / "nowhere"}};
    for (std::vector<std::string> words : failing) {
        words.emplace_back("--json");
        const Ended ended = run_program(words);
        EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 1) << ended.out;
        const json said = json::parse(ended.out);
        EXPECT_EQ(said.at("schema"), "feedline." + words[0] + "/1");
        EXPECT_EQ(said.at("error").at("exit_code"), ended.exit_code);
        EXPECT_THAT(said.at("error").at("path").get<std::string>(), HasSubstr(dir_.path()));
        EXPECT_THAT(ended.err, HasSubstr(said.at("error").at("message").get<std::string>()));
    }
}

TEST_F(PackCli, SaysWhatOfArraysIsNotKept) {
    const auto makers = format_makers();
    const auto tensors = std::find_if(makers.begin(), makers.end(), [](const FormatMaker& one) {
        return std::string_view(one.variant) == "_strided";
    });
    ASSERT_NE(tensors, makers.end());
    tensors->write(dir_ / "tensors", {"one", "two"}, 2);
    const Ended noted = run_program({"pack", dir_ / "tensors", dir_ / "x", "--format", "webdataset"});
    EXPECT_EQ(noted.exit_code, 0);
    EXPECT_THAT(noted.err, HasSubstr("shape and type"));
    EXPECT_EQ(packed().err, "");
}

TEST_F(PackCli, InspectSaysWhatADirectoryOfSeveralFormatsIsTakenFor) {
    ASSERT_EQ(packed().exit_code, 0);
    ASSERT_EQ(run_program({"pack", dir_ / "source", dir_ / "tars", "--format", "webdataset"}).exit_code, 0);
    fs::rename(dir_ / "tars/source-000000.tar", dir_ / "packed/source-000000.tar");
    const Ended mixed = run_program({"inspect", dir_ / "packed"});
    EXPECT_THAT(mixed.out, HasSubstr("format   files"));
    EXPECT_THAT(mixed.out, HasSubstr("1 of tfrecord, 1 of webdataset"));
    EXPECT_EQ(run_program({"inspect", dir_ / "source"}).out.find("each is one sample"), std::string::npos);
}

TEST_F(PackCli, InspectSaysWhatIsBrokenWhereAllIs) {
    for (const Packer* packer : all_packers()) {
        const std::string format(packer->format());
        if (format != "hdf5" && format != "lmdb" && format != "pth") continue;
        ASSERT_EQ(run_program({"pack", dir_ / "source", dir_ / format, "--format", format}).exit_code, 0);
        std::string shard;
        for (const auto& entry : fs::recursive_directory_iterator(dir_ / format)) {
            if (entry.is_regular_file() && (shard.empty() || entry.file_size() > fs::file_size(shard))) {
                shard = entry.path();
            }
        }
        fs::resize_file(shard, fs::file_size(shard) / 2);
        const Ended inspected = run_program({"inspect", dir_ / format});
        EXPECT_EQ(inspected.exit_code, 5) << inspected.err;
        EXPECT_THAT(inspected.err, HasSubstr(fs::path(shard).filename()));
        EXPECT_EQ(inspected.err, run_program({"bench", dir_ / format, "--no-controls"}).err);
    }
}

TEST_F(PackCli, AReaderThatHasSeenEnoughIsToldNothing) {
    const Ended ended = run_program({"inspect", dir_ / "source"}, {.unread = {1}});
    EXPECT_EQ(ended.exit_code, 5);
    EXPECT_EQ(ended.err, "");
}

TEST_F(PackCli, TakesListsInOneWordWhereverTheyStand) {
    const Ended ended =
        run_program({"pack", dir_ / "source", "--format", "webdataset", "--parts", "jpg", dir_ / "packed"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_TRUE(fs::exists(dir_ / "packed/feedline.manifest.json"));
    const Ended missing =
        run_program({"pack", dir_ / "packed", "--format", "webdataset", "--parts", "jpg,png", dir_ / "again"});
    EXPECT_THAT(missing.err, HasSubstr("a sample has no part 'png'"));
}

TEST_F(PackCli, RefusesInOneLine) {
    const std::vector<std::vector<std::string>> wrong = {
        {"pack", dir_ / "nowhere", dir_ / "x", "--format", "tfrecord"},
        {"pack", dir_ / "source", dir_ / "x", "--format", "zip"},
        {"pack", dir_ / "source", dir_ / "x"},
        {"pack", dir_ / "source", dir_ / "x", "--format", "tfrecord", "--shards", "0"},
        {"pack", dir_ / "source", dir_ / "x", "--format", "tfrecord", "--shards", "21"},
        {"pack", dir_ / "source", dir_ / "x", "--format", "tfrecord", "--shards", "2", "--shard-size", "1MB"},
        {"pack", dir_ / "source", dir_ / "source/x", "--format", "tfrecord"},
        {"pack", dir_ / "source", dir_ / "no/parent", "--format", "tfrecord"},
        {"pack", dir_ / "source", dir_ / "x", "--format", "tfrecord", "--labels", dir_ / "no-labels"},
        {"pack", dir_ / "source", dir_ / "x", "--format", "tfrecord", "--name", "a/b"},
        {"pack", dir_ / "source", dir_ / "x", "--format", "tfrecord", "--rate-limit", "fast"},
        {"pack", dir_ / "source", dir_ / "x", "--format", "tfrecord", "--rate-limit", "0"},
        {"pack", dir_ / "source", dir_ / "x", "--format", "tfrecord", "--shard-size", "0"},
        {"verify", dir_ / "nowhere"},
        {"verify", dir_ / "source"},
        {"inspect", dir_ / "nowhere"}};
    for (const std::vector<std::string>& words : wrong) {
        const Ended ended = run_program(words);
        EXPECT_EQ(ended.exit_code, 2) << testing::PrintToString(words) << ended.err;
        EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
        EXPECT_FALSE(fs::exists(dir_ / "x"));
        EXPECT_FALSE(fs::exists(dir_ / "x.incomplete"));
    }
}

TEST_F(PackCli, WhatDoesNotHoldIsExitCode1) {
    ASSERT_EQ(packed().exit_code, 0);
    const std::string shard = dir_ / "packed/source-00000-of-00001.tfrecord";
    std::string bytes = read_file(shard);
    bytes[5000] = static_cast<char>(bytes[5000] ^ 1);
    write_file(shard, bytes);
    const Ended verify = run_program({"verify", dir_ / "packed"});
    EXPECT_EQ(verify.exit_code, 1);
    EXPECT_THAT(verify.out, HasSubstr(shard));
    EXPECT_THAT(verify.out, HasSubstr("at offset"));
    const json found = json::parse(run_program({"verify", dir_ / "packed", "--json"}).out);
    EXPECT_FALSE(found.at("holds"));
    // A corrupt source stops a repack with its file and offset, and writes nothing that looks finished.
    const Ended again = run_program({"pack", dir_ / "packed", dir_ / "again", "--format", "webdataset"});
    EXPECT_EQ(again.exit_code, 5);
    EXPECT_THAT(again.err, HasSubstr(shard + " at offset"));
    EXPECT_FALSE(fs::exists(dir_ / "again"));
}

}  // namespace
}  // namespace feedline::test
