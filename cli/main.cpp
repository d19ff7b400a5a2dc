// feedline: parses, runs one subcommand, turns what happened into an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/plain_words.h"
#include "cli/stacks.h"
#include "core/error.h"
#include "core/failure_words.h"
#include "core/status_line.h"

namespace {

int complain(std::string_view what, int exit_code) {
    feedline::tell(stderr, fmt::format("feedline: {}\n", what));
    return exit_code;
}

std::string as_typed(int argc, char** argv) {
    std::string typed = "feedline";
    for (int i = 1; i < argc; ++i) typed += std::string(" ") + argv[i];
    return typed;
}

int run(int argc, char** argv, const feedline::Interrupt& interrupt) {
    CLI::App app("Does storage keep the GPUs busy, and why not?", "feedline");
    app.set_version_flag("--version", FEEDLINE_VERSION);
    app.require_subcommand(0, 1);
    std::vector<std::pair<CLI::App*, feedline::Command>> commands;
    const auto add = [&](const char* name, const char* does, feedline::Command (*declare)(CLI::App&)) {
        CLI::App* subcommand = app.add_subcommand(name, does);
        commands.emplace_back(subcommand, declare(*subcommand));
    };
    add("bench", "Measures how long an accelerator would wait for a dataset, and why", feedline::add_bench);
    add("generate", "Writes a dataset of small files", feedline::add_generate);
    add("inspect", "Says what a dataset is", feedline::add_inspect);
    add("pack", "Repacks a dataset into large files of another format", feedline::add_pack);
    add("verify", "Checks a packed dataset against its checksums, and against its source", feedline::add_verify);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        const auto parsed =
            std::find_if(commands.begin(), commands.end(), [](const auto& one) { return one.first->parsed(); });
        const CLI::App& command = parsed == commands.end() ? app : *parsed->first;
        const std::string typed = &command == &app ? "feedline" : "feedline " + command.get_name();
        const feedline::Error refusal =
            feedline::Error(feedline::ErrorKind::usage, feedline::in_plain_words(error, command))
                .advise("see " + typed + " --help");
        return complain(refusal.what(), feedline::exit_code(refusal.kind()));
    }
    for (const auto& [subcommand, command] : commands) {
        if (!subcommand->parsed()) continue;
        const feedline::Ending ending = command(as_typed(argc, argv), interrupt);
        if (ending.at_once) {
            std::fflush(nullptr);
            std::_Exit(ending.exit_code);
        }
        return ending.exit_code;
    }
    return complain("a subcommand is needed: bench, generate, inspect, pack or verify. See feedline --help.",
                    feedline::exit_code(feedline::ErrorKind::usage));
}

// `feedline inspect DATASET | head`: who reads has seen enough, and wants no words about it.
bool reader_is_gone() {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    struct stat status {};
    return ::fstat(STDOUT_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) &&
           ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// A table that nobody could read was not delivered.
int delivered(int exit_code) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
    const int error = errno;
    if (exit_code != 0) return exit_code;
    if (reader_is_gone()) return feedline::exit_code(feedline::ErrorKind::io);
    return complain(feedline::system_error(error, "cannot write", "standard output").what(),
                    feedline::exit_code(feedline::ErrorKind::io));
}

// Where a standard stream is closed, the next file that is opened would take its place, and get what is printed.
void hold_standard_streams() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        // The wrong way round, so that using it still fails. The lowest free number is the one that is missing.
        if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
    }
}

}  // namespace

int main(int argc, char** argv) {
    hold_standard_streams();
    std::signal(SIGXFSZ, SIG_IGN);  // a file over its size limit is an error like any other: EFBIG
    std::signal(SIGPIPE, SIG_IGN);  // and so is a pipe whose reader is gone: EPIPE
    feedline::Interrupt interrupt;
    const feedline::SignalScope signals(interrupt);
    const auto complain_of = [](const std::exception& exception) {
        const feedline::Error error = feedline::as_error(exception);
        return complain(error.what(), feedline::exit_code(error.kind()));
    };
    try {
        return feedline::with_enough_stack([&] {
            try {
                return delivered(run(argc, argv, interrupt));
            } catch (const std::exception& exception) {
                return complain_of(exception);
            }
        });
    } catch (const std::exception& exception) {
        return complain_of(exception);
    }
}
