// What the tests of `feedline bench` share: a small dataset, a call of the program over it, and its results.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {

constexpr unsigned kFiles = 90;

// kFiles files of 1 to 20 KB in three classes.
void make_dataset(const std::string& path);

// The results in a result file.
nlohmann::json results_in(const std::string& path);

std::size_t lines_in(const std::string& text);

// What every measured epoch must satisfy, whatever was measured.
void expect_sound(const nlohmann::json& epoch, std::uint64_t samples);

class Bench : public testing::Test {
protected:
    Bench() { make_dataset(data_); }

    // `feedline bench DATASET --no-controls --json ...` and more.
    Ended bench(std::vector<std::string> more) const;

    TempDir dir_;
    std::string data_ = dir_ / "data";
    std::string json_ = dir_ / "result.json";
};

}  // namespace feedline::test
