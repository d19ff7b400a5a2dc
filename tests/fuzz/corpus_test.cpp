// Every input of a target's corpus, and what is left of it when it is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

std::vector<std::string> inputs() {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(FEEDLINE_FUZZ_CORPUS)) paths.push_back(entry.path());
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

std::string name_of(const testing::TestParamInfo<std::string>& path) {
    std::string name = std::filesystem::path(path.param).filename();
    std::replace_if(
        name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(inputs()), name_of);

}  // namespace
}  // namespace feedline
