// Every input of a target's corpus: those with names, and what is left of them when they are cut; those that long runs
// found, all at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

constexpr const char* kFound = FEEDLINE_FUZZ_CORPUS "/found";

std::vector<std::string> files_in(const std::string& directory) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, EndsInAnAnswerOrAnError) {
    const std::string content = test::read_file(GetParam());
    ASSERT_FALSE(content.empty());
    constexpr std::size_t kCuts = 16;
    for (std::size_t cut = 0; cut <= kCuts; ++cut) {
        fuzz_one(std::as_bytes(std::span(content)).first(content.size() * (kCuts - cut) / kCuts));
    }
}

TEST(Found, EndsInAnAnswerOrAnError) {
    if (!std::filesystem::exists(kFound)) GTEST_SKIP() << "nothing was kept of this target's runs";
    for (const std::string& path : files_in(kFound)) {
        std::cerr << path << "\n";  // which one it was, should the process end
        const std::string content = test::read_file(path);
        fuzz_one(std::as_bytes(std::span(content)));
    }
}

std::string name_of(const testing::TestParamInfo<std::string>& path) {
    std::string name = std::filesystem::path(path.param).filename();
    std::replace_if(
        name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(files_in(FEEDLINE_FUZZ_CORPUS)), name_of);

}  // namespace
}  // namespace feedline
