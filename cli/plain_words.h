// What the command-line parser refuses, in words for people.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace feedline {

// One line without its parser's jargon: "--threads needs a value (N)". `command` is the subcommand that was parsed, or
// the program itself: its names are what a mistyped one is compared with.
std::string in_plain_words(const CLI::ParseError& error, const CLI::App& command);

}  // namespace feedline
