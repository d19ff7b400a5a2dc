// Loaded before the C library: writes to, or flushes of, files whose path holds a text fail, as on a disk that is full
// or broken. FEEDLINE_TEST_FAIL is CALL:TEXT:ERRNO, CALL write, sync or exchange.
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Fault {
    std::string call;
    std::string text;
    int error_number = 0;
};

const Fault& fault() {
    static const Fault parsed = [] {
        const char* said = std::getenv("FEEDLINE_TEST_FAIL");
        const std::string all = said == nullptr ? "" : said;
        const std::size_t first = all.find(':');
        const std::size_t last = all.rfind(':');
        if (first == last) return Fault{};
        return Fault{all.substr(0, first), all.substr(first + 1, last - first - 1),
                     static_cast<int>(std::strtol(all.c_str() + last + 1, nullptr, 10))};
    }();
    return parsed;
}

bool fails(const char* call, int fd) {
    const Fault& one = fault();
    if (one.call != call) return false;
    char path[4096]{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), path, sizeof(path) - 1) < 0 || std::strstr(path, one.text.c_str()) == nullptr) {
        return false;
    }
    errno = one.error_number;
    return true;
}

template <typename Call>
Call real(const char* name) {
    return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* buffer, size_t bytes) {
    static const auto call = real<ssize_t (*)(int, const void*, size_t)>("write");
    return fails("write", fd) ? -1 : call(fd, buffer, bytes);
}
ssize_t writev(int fd, const iovec* pieces, int count) {
    static const auto call = real<ssize_t (*)(int, const iovec*, int)>("writev");
    return fails("write", fd) ? -1 : call(fd, pieces, count);
}
ssize_t pwrite(int fd, const void* buffer, size_t bytes, off_t offset) {
    static const auto call = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
    return fails("write", fd) ? -1 : call(fd, buffer, bytes, offset);
}
ssize_t pwrite64(int fd, const void* buffer, size_t bytes, off64_t offset) {
    static const auto call = real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
    return fails("write", fd) ? -1 : call(fd, buffer, bytes, offset);
}
ssize_t pwritev(int fd, const iovec* pieces, int count, off_t offset) {
    static const auto call = real<ssize_t (*)(int, const iovec*, int, off_t)>("pwritev");
    return fails("write", fd) ? -1 : call(fd, pieces, count, offset);
}
// "exchange": as on a filesystem that knows no RENAME_EXCHANGE.
int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) {
    static const auto call = real<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
    constexpr unsigned kExchange = 2;
    if (fault().call != "exchange" || (flags & kExchange) == 0) return call(from_fd, from, to_fd, to, flags);
    errno = fault().error_number;
    return -1;
}
int fsync(int fd) {
    static const auto call = real<int (*)(int)>("fsync");
    return fails("sync", fd) ? -1 : call(fd);
}
int fdatasync(int fd) {
    static const auto call = real<int (*)(int)>("fdatasync");
    return fails("sync", fd) ? -1 : call(fd);
}
}
