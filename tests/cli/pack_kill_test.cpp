// feedline pack, killed at any moment.
#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include "tests/cli/program.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::map<std::string, std::string> tree(const std::string& path) {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) files[fs::relative(entry.path(), path)] = read_file(entry.path());
    }
    return files;
}

std::string names_of(const std::map<std::string, std::string>& files) {
    std::string names;
    for (const auto& [name, content] : files) names += name + " ";
    return names;
}

// Runs the program and kills it after `delay`; whether it had ended by then, and well.
bool ended_before_the_kill(const std::vector<std::string>& arguments, std::chrono::microseconds delay) {
    std::vector<char*> words;
    std::vector<std::string> all = {FEEDLINE_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    for (std::string& word : all) words.push_back(word.data());
    words.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::execv(words[0], words.data());
        ::_exit(127);
    }
    std::this_thread::sleep_for(delay);
    ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status)) return false;
    EXPECT_EQ(WEXITSTATUS(status), 0) << "what an earlier kill left is in the way";
    return true;
}

class PackKill : public ::testing::TestWithParam<std::string> {};

TEST_P(PackKill, LeavesNothingThatLooksFinishedAndGoesOnToTheSameBytes) {
    constexpr int kKills = 100;  // for each of two formats, half of them while it replaces another dataset
    const TempDir dir;
    for (unsigned i = 0; i < 60; ++i)
        write_file(dir / "source/c" + std::to_string(i % 3) + "/" + std::to_string(i), pattern(3000, i));
    const auto pack_to = [&](const std::string& destination) {
        return std::vector<std::string>{
            "pack", dir / "source", dir / destination, "--format", GetParam(), "--shards", "6", "--threads",
            "2",    "--resume",     "--quiet"};
    };
    const auto start = Clock::now();
    ASSERT_EQ(run_program(pack_to("whole")).exit_code, 0);
    const auto usual = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
    const auto whole = tree(dir / "whole");

    std::mt19937 random(1);
    int kills = 0;
    int completed = 0;
    while (kills < kKills / 2) {
        const std::chrono::microseconds delay(random() % static_cast<std::uint64_t>(usual.count() * 5 / 4 + 1));
        const bool ended = ended_before_the_kill(pack_to("packed"), delay);
        if (!ended) ++kills;
        if (!fs::exists(dir / "packed")) {
            ASSERT_FALSE(ended);
            continue;
        }
        // What is there is whole, also where the kill came a moment before the end.
        ++completed;
        const auto packed = tree(dir / "packed");
        ASSERT_TRUE(packed == whole) << "after " << kills << " kills: " << names_of(packed);
        fs::remove_all(dir / "packed");
    }
    ASSERT_EQ(run_program(pack_to("packed")).exit_code, 0);
    EXPECT_TRUE(tree(dir / "packed") == whole);
    EXPECT_FALSE(fs::exists(dir / "packed.incomplete"));

    auto replacing = pack_to("packed");
    replacing.insert(replacing.end(), {"--overwrite", "--order", "shuffle"});
    ASSERT_EQ(run_program(replacing).exit_code, 0);
    const auto replaced = tree(dir / "packed");
    const auto put_back = [&] {
        fs::remove_all(dir / "packed");
        fs::copy(dir / "whole", dir / "packed");
    };
    put_back();
    while (kills < kKills) {
        const std::chrono::microseconds delay(random() % static_cast<std::uint64_t>(usual.count() * 5 / 4 + 1));
        const bool ended = ended_before_the_kill(replacing, delay);
        if (!ended) ++kills;
        // Either the one or the other, at any moment.
        const auto packed = tree(dir / "packed");
        ASSERT_TRUE(packed == replaced || (packed == whole && !ended))
            << "after " << kills << " kills: " << names_of(packed);
        ASSERT_FALSE(ended && fs::exists(dir / "packed.incomplete"));
        if (packed == whole) continue;
        ++completed;
        put_back();
    }
    ASSERT_EQ(run_program(replacing).exit_code, 0);
    EXPECT_TRUE(tree(dir / "packed") == replaced);
    EXPECT_FALSE(fs::exists(dir / "packed.incomplete"));
    RecordProperty("completed", completed);
}

INSTANTIATE_TEST_SUITE_P(Formats, PackKill, ::testing::Values("webdataset", "tfrecord"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace feedline::test
