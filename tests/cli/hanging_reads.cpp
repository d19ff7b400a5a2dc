// Loaded before the C library (LD_PRELOAD): the first FEEDLINE_TEST_READS calls of pread() work, and no later one comes
// back, as on a mount that hangs.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace {

using Read = ssize_t (*)(int, void*, size_t, off_t);

ssize_t read_or_hang(int fd, void* buffer, size_t bytes, off_t offset) {
    static const auto real = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "pread"));
    static std::atomic<long> left{std::strtol(std::getenv("FEEDLINE_TEST_READS"), nullptr, 10)};
    if (left.fetch_sub(1) <= 0) {
        while (true) ::pause();
    }
    return real(fd, buffer, bytes, offset);
}

}  // namespace

extern "C" {
ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
    return read_or_hang(fd, buffer, bytes, offset);
}
ssize_t pread64(int fd, void* buffer, size_t bytes, off_t offset) {
    return read_or_hang(fd, buffer, bytes, offset);
}
}
