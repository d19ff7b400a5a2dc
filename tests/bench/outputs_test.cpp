#include "bench/outputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "bench/output_file.h"
#include "core/error.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

class Outputs : public testing::Test {
protected:
    Outputs() { test::write_file(data_ + "/a/1", "sample"); }

    // The refusal, or "".
    std::string refusal(const std::string& json, const std::string& csv, const std::string& more = "") const {
        BenchOptions options;
        options.json_file = json;
        options.csv_file = csv;
        options.result_file = more;
        options.datasets = {{"data", data_}};
        try {
            const std::vector<Output> outputs = outputs_of(options);
            check_outputs(outputs, options.datasets);
            const auto dataset = open_dataset(data_, "files", {});
            check_outputs_against(outputs, *dataset);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            return error.what();
        }
        return "";
    }

    test::TempDir dir_;
    std::string data_ = dir_ / "data";
};

TEST_F(Outputs, AMinusIsStandardOutputAndTakesOneOfThem) {
    EXPECT_EQ(refusal("-", ""), "");
    EXPECT_EQ(refusal("", "-"), "");
    EXPECT_NE(refusal("-", "-").find("standard output"), std::string::npos);
    EXPECT_NE(refusal("-", "/dev/stdout").find("standard output"), std::string::npos);
    EXPECT_NE(refusal("-", "", "-").find("standard output"), std::string::npos);
    EXPECT_EQ(refusal("-", dir_ / "x.csv"), "");
    EXPECT_NE(::access("-", F_OK), 0);
}

TEST_F(Outputs, AProtectedFileIsNotReplacedAndAReplacedOneKeepsItsMode) {
    const std::string file = dir_ / "baseline.json";
    test::write_file(file, "old");
    namespace fs = std::filesystem;
    fs::permissions(file, fs::perms::owner_read | fs::perms::group_read);
    EXPECT_THROW(OutputFile("--json", file), Error);
    EXPECT_EQ(test::read_file(file), "old");
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    OutputFile("--json", file).write("new");
    EXPECT_EQ(test::read_file(file), "new");
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Outputs, OneFileByTwoNamesIsRefused) {
    const std::string file = dir_ / "r";
    const std::string dotted = dir_ / "./sub/../r";
    std::filesystem::create_directory(dir_ / "sub");
    std::filesystem::create_directory_symlink(dir_.path(), dir_ / "here");
    EXPECT_NE(refusal(file, file).find("--csv"), std::string::npos);
    EXPECT_NE(refusal(file, dotted), "");
    EXPECT_NE(refusal(file, dir_ / "here/r"), "") << "through a linked directory";
    test::write_file(file, "old");
    std::filesystem::create_symlink("r", dir_ / "link");
    std::filesystem::create_hard_link(file, dir_ / "hard");
    EXPECT_NE(refusal(file, dir_ / "link"), "");
    EXPECT_NE(refusal(file, dir_ / "hard"), "");
    EXPECT_EQ(refusal(file, dir_ / "other"), "");
    // Twice the same JSON does no harm; a CSV over it does.
    EXPECT_EQ(refusal(file, "", file), "");
    EXPECT_NE(refusal("", file, file), "");
}

TEST_F(Outputs, TheDatasetIsNeverWrittenInto) {
    EXPECT_NE(refusal(data_ + "/r.json", "").find("part of the dataset"), std::string::npos);
    EXPECT_NE(refusal("", data_ + "/a/1").find("part of the dataset"), std::string::npos);
    EXPECT_NE(refusal("", "", data_ + "/a/1").find("FEEDLINE_RESULT_FILE"), std::string::npos);
    EXPECT_NE(refusal(dir_ / "data/../data/r.json", ""), "");
    std::filesystem::create_directory_symlink(data_, dir_ / "alias");
    EXPECT_NE(refusal(dir_ / "alias/r.json", ""), "");
    std::filesystem::create_symlink(data_ + "/a/1", dir_ / "r.json");
    EXPECT_NE(refusal(dir_ / "r.json", ""), "") << "a link outside that leads to a sample";
    std::filesystem::create_symlink(data_ + "/new", dir_ / "new.json");
    EXPECT_NE(refusal(dir_ / "new.json", ""), "") << "and one that would make a new one";
    EXPECT_EQ(refusal(dir_ / "data.json", ""), "") << "beside it is not inside";
}

TEST_F(Outputs, WhatTheDatasetsLinksLeadToBelongsToIt) {
    const std::string store = dir_ / "store/1";
    test::write_file(store, "sample elsewhere");
    std::filesystem::create_symlink(store, data_ + "/a/link");
    EXPECT_NE(refusal(store, "").find("part of the dataset"), std::string::npos);
    std::filesystem::create_hard_link(data_ + "/a/1", dir_ / "hard");
    EXPECT_NE(refusal(dir_ / "hard", ""), "");
    test::write_file(dir_ / "store/2", "sample elsewhere");
    EXPECT_EQ(refusal(dir_ / "store/2", ""), "") << "of the same size, and another file";
}

}  // namespace
}  // namespace feedline
