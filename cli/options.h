// Kinds of options that several subcommands have.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace feedline {

// A size with its unit, whose default is what `bytes` holds.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes, const std::string& help);

// Whole numbers from 1 on, refused in words: CLI11's own check prints the largest double.
CLI::Validator at_least_one();

}  // namespace feedline
