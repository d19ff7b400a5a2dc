// Loaded before the C library: at call FEEDLINE_TEST_READS of pread() the whole process is stopped, as by
// Ctrl-Z, and goes on a second later or more.
#include <fcntl.h>
#include <signal.h>

#include <cstdio>
#include <cstring>

#include "tests/cli/counted_pread.h"

namespace {

// By /proc/PID/stat: "PID (name) T ...".
bool is_stopped(const char* stat_path) {
    char text[256]{};
    const int fd = ::open(stat_path, O_RDONLY);
    const ssize_t bytes = ::read(fd, text, sizeof(text) - 1);
    ::close(fd);
    const char* state = bytes > 0 ? std::strrchr(text, ')') : nullptr;
    return state != nullptr && state[2] == 'T';
}

void suspend_for_a_second() {
    const pid_t self = ::getpid();
    char stat_path[64];
    std::snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", static_cast<int>(self));
    const pid_t waker = ::fork();
    if (waker == 0) {
        while (::getppid() == self && !is_stopped(stat_path)) ::usleep(1000);
        ::usleep(1'000'000);
        ::kill(self, SIGCONT);
        ::_exit(0);
    }
    if (waker > 0) ::kill(self, SIGSTOP);
}

}  // namespace

void before_read(long left) {
    if (left == 1) suspend_for_a_second();
}
