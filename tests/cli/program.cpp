#include "tests/cli/program.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "core/fd.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

[[noreturn]] void become(std::vector<std::string> words) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(words[0].c_str(), argv.data());
    ::_exit(127);
}

// The built program with its arguments, behind what launches it.
std::vector<std::string> launched(std::vector<std::string> words, const std::vector<std::string>& arguments) {
    words.emplace_back(FEEDLINE_PROGRAM);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
}

int exit_code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Ended run_program(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
    return run_command(launched(surroundings.launcher, arguments), surroundings);
}

Ended run_command(const std::vector<std::string>& words, const Surroundings& surroundings) {
    const TempDir dir;
    const std::string out = dir / "out";
    const std::string err = dir / "err";
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("cannot fork");
    if (pid == 0) {
        const int out_fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int err_fd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (out_fd < 0 || err_fd < 0 || ::dup2(out_fd, STDOUT_FILENO) < 0 || ::dup2(err_fd, STDERR_FILENO) < 0) {
            ::_exit(126);
        }
        for (const int stream : surroundings.unread) {
            std::array<int, 2> ends{};
            if (::pipe(ends.data()) != 0 || ::dup2(ends[1], stream) < 0) ::_exit(126);
            ::close(ends[0]);
            ::close(ends[1]);
        }
        for (const auto& [name, value] : surroundings.environment) ::setenv(name.c_str(), value.c_str(), 1);
        for (const auto& [resource, soft] : surroundings.limits) {
            const rlimit limit{soft, soft};
            if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) ::_exit(126);
        }
        if (!surroundings.directory.empty() && ::chdir(surroundings.directory.c_str()) != 0) ::_exit(126);
        become(words);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) throw std::runtime_error("cannot wait");
    }
    return {exit_code_of(status), read_file(out), read_file(err)};
}

TerminalProgram::TerminalProgram(const std::vector<std::string>& arguments, const std::string& term,
                                 unsigned short columns, const std::vector<std::string>& launcher) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 50;
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ < 0) throw std::runtime_error("cannot make a terminal");
    if (pid_ == 0) {
        ::setenv("TERM", term.c_str(), 1);
        become(launched(launcher, arguments));
    }
}

TerminalProgram::~TerminalProgram() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    ::close(terminal_);
}

bool TerminalProgram::read_some() {
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(terminal_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) return false;  // EIO: the other side is closed
    shown_.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
}

bool TerminalProgram::wait_for(const std::string& text) {
    while (shown_.find(text) == std::string::npos) {
        if (!read_some()) return false;
    }
    return true;
}

void TerminalProgram::send(int signal) const {
    ::kill(pid_, signal);
}

Ended TerminalProgram::finish() {
    while (read_some()) {
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return {exit_code_of(status), shown_, {}};
}

}  // namespace feedline::test
