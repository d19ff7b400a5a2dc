// feedline pack on storage that is full or broken, whatever it is about to write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "packers/packer.h"
#include "tests/cli/program.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::map<std::string, std::string> tree(const std::string& path) {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) files[fs::relative(entry.path(), path)] = read_file(entry.path());
    }
    return files;
}

class PackFault : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        for (unsigned i = 0; i < 4; ++i) write_file(dir_ / "source/a/" + std::to_string(i), pattern(100'000, i));
        ASSERT_EQ(pack_to("whole", {}).exit_code, 0);
        whole_ = tree(dir_ / "whole");
    }
    Ended pack_to(const std::string& destination, const Surroundings& surroundings) const {
        return run_program({"pack", dir_ / "source", dir_ / destination, "--format", GetParam(), "--shards", "2",
                            "--threads", "1", "--resume", "--quiet"},
                           surroundings);
    }
    // A run that fails so, and then one without the fault.
    void expect_that_it_stops_and_goes_on(const Surroundings& surroundings, const std::string& file, int error) const {
        const Ended failed = pack_to("packed", surroundings);
        EXPECT_EQ(failed.exit_code, 5) << failed.err;
        EXPECT_EQ(std::count(failed.err.begin(), failed.err.end(), '\n'), 1) << failed.err;
        EXPECT_THAT(failed.err, HasSubstr("packed.incomplete"));
        EXPECT_THAT(failed.err, HasSubstr(file));
        EXPECT_THAT(failed.err, HasSubstr("(errno " + std::to_string(error) + ")"));
        EXPECT_FALSE(fs::exists(dir_ / "packed"));
        const Ended after = pack_to("packed", {});
        EXPECT_EQ(after.exit_code, 0) << after.err;
        EXPECT_TRUE(tree(dir_ / "packed") == whole_);
        EXPECT_FALSE(fs::exists(dir_ / "packed.incomplete"));
        fs::remove_all(dir_ / "packed");
    }

    TempDir dir_;
    std::map<std::string, std::string> whole_;
};

TEST_P(PackFault, AFileOverItsSizeLimit) {
    const std::string inside = GetParam() == "lmdb" ? "data.mdb" : "source-00000";
    expect_that_it_stops_and_goes_on({.limits = {{RLIMIT_FSIZE, 120'000}}}, inside, EFBIG);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_P(PackFault, AnyFileOfIt) {
    std::vector<std::string> files = {GetParam() == "lmdb" ? "data.mdb" : ".source-00"};
    // Of one format only: they are written alike.
    if (GetParam() == "tfrecord") files.insert(files.end(), {".samples", ".idx", "journal", "manifest"});
    for (const std::string& file : files) {
        for (const char* call : {"write", "sync"}) {
            for (const int error : {EIO, ENOSPC}) {
                SCOPED_TRACE(std::string(call) + " " + file + " " + std::to_string(error));
                expect_that_it_stops_and_goes_on(
                    {.environment = {{"LD_PRELOAD", FEEDLINE_FAILING_WRITES},
                                     {"FEEDLINE_TEST_FAIL",
                                      std::string(call) + ":" + file + ":" + std::to_string(error)}}},
                    file, error);
            }
        }
    }
}

TEST(PackWithoutExchange, IsRefusedBeforeTheWork) {
    const TempDir dir;
    write_file(dir / "source/a/1", "one");
    const std::vector<std::string> words = {"pack",     dir / "source", dir / "packed", "--overwrite",
                                            "--format", "tfrecord",     "--quiet"};
    ASSERT_EQ(run_program(words).exit_code, 0);
    const auto before = tree(dir / "packed");
    write_file(dir / "source/a/1", "two");
    const Ended refused = run_program(
        words, {.environment = {{"LD_PRELOAD", FEEDLINE_FAILING_WRITES}, {"FEEDLINE_TEST_FAIL", "exchange::22"}}});
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("Remove the old one first"));
    EXPECT_TRUE(tree(dir / "packed") == before);
    EXPECT_FALSE(fs::exists(dir / "packed.incomplete"));
    EXPECT_EQ(run_program(words).exit_code, 0);
    for (const auto& file : tree(dir / "packed")) EXPECT_NE(file.first.front(), '.') << file.first;
}
#endif

std::vector<std::string> formats() {
    std::vector<std::string> names;
    for (const Packer* packer : all_packers()) names.emplace_back(packer->format());
    return names;
}

INSTANTIATE_TEST_SUITE_P(Every, PackFault, ::testing::ValuesIn(formats()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace feedline::test
