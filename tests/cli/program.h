// Runs the built program as a person would.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace feedline::test {

struct Ended {
    int exit_code = -1;  // 128 + signal when killed by one
    std::string out;
    std::string err;
};

struct Surroundings {
    std::vector<std::pair<std::string, std::string>> environment{};  // added to the current one
    std::vector<std::pair<int, std::uint64_t>> limits{};             // RLIMIT_..., soft
    std::string directory{};                                         // to run in; empty: this one
    std::vector<int> unread{};                                       // streams that go to a pipe whose reader is gone
    std::vector<std::string> launcher{};  // command that starts the program it is given, by exec
};

// With stdout and stderr in files.
Ended run_program(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});

// The same for another program: the first word is its path.
Ended run_command(const std::vector<std::string>& words, const Surroundings& surroundings = {});

// A running program whose output goes to a terminal of its own.
class TerminalProgram {
public:
    // `term` is what TERM says, `columns` the terminal's width.
    explicit TerminalProgram(const std::vector<std::string>& arguments, const std::string& term = "xterm",
                             unsigned short columns = 200, const std::vector<std::string>& launcher = {});
    ~TerminalProgram();
    TerminalProgram(const TerminalProgram&) = delete;
    TerminalProgram& operator=(const TerminalProgram&) = delete;

    // Reads until `text` was shown; false when the program ended before.
    bool wait_for(const std::string& text);
    void send(int signal) const;
    // Reads to the end. `err` stays empty: a terminal shows both.
    Ended finish();

private:
    bool read_some();

    pid_t pid_ = -1;
    int terminal_ = -1;
    std::string shown_;
};

}  // namespace feedline::test
