// Loaded before the C library (LD_PRELOAD): at call FEEDLINE_TEST_READS of pread() the whole process is stopped, as by
// Ctrl-Z, and goes on a second later or more.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Read = ssize_t (*)(int, void*, size_t, off_t);

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

ssize_t read_behind_a_stop(int fd, void* buffer, size_t bytes, off_t offset) {
    static const auto real = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "pread"));
    static std::atomic<long> left{std::strtol(std::getenv("FEEDLINE_TEST_READS"), nullptr, 10)};
    if (left.fetch_sub(1) == 1) suspend_for_a_second();
    return real(fd, buffer, bytes, offset);
}

}  // namespace

extern "C" {
ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
    return read_behind_a_stop(fd, buffer, bytes, offset);
}
ssize_t pread64(int fd, void* buffer, size_t bytes, off_t offset) {
    return read_behind_a_stop(fd, buffer, bytes, offset);
}
}
