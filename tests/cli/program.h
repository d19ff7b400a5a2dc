// Runs the built program as a person would.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace feedline::test {

struct Ended {
    int exit_code = -1;  // 128 + signal when killed by one
    std::string out;
    std::string err;
};

// With stdout and stderr piped. `environment` is added to the current one.
Ended run_program(const std::vector<std::string>& arguments,
                  const std::vector<std::pair<std::string, std::string>>& environment = {});

// A running program whose output goes to a terminal of its own.
class TerminalProgram {
public:
    explicit TerminalProgram(const std::vector<std::string>& arguments);
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
