// What main() and the subcommands agree on.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "core/interrupt.h"

namespace feedline {

struct Ending {
    int exit_code = 0;
    // A thread hangs in the kernel or was left behind: the process must be left without waiting for it.
    bool at_once = false;
};

// Runs a subcommand whose options were parsed. `typed` is the command line.
using Command = std::function<Ending(const std::string& typed, const Interrupt& interrupt)>;

// Each declares its options on `app`.
Command add_bench(CLI::App& app);
Command add_generate(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_pack(CLI::App& app);
Command add_verify(CLI::App& app);

}  // namespace feedline
