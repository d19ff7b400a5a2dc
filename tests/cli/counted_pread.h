// For libraries that are loaded before the C library (LD_PRELOAD): pread() with something done before each call.
// Include it in one file of a library, which defines before_read().
#pragma once

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

// `left`: FEEDLINE_TEST_READS at the first call, one less at each further one. From any thread.
void before_read(long left);

namespace {

ssize_t counted_pread(int fd, void* buffer, size_t bytes, off_t offset) {
    using Read = ssize_t (*)(int, void*, size_t, off_t);
    static const auto real = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "pread"));
    static std::atomic<long> left{std::strtol(std::getenv("FEEDLINE_TEST_READS"), nullptr, 10)};
    before_read(left.fetch_sub(1));
    return real(fd, buffer, bytes, offset);
}

}  // namespace

extern "C" {
ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
    return counted_pread(fd, buffer, bytes, offset);
}
ssize_t pread64(int fd, void* buffer, size_t bytes, off_t offset) {
    return counted_pread(fd, buffer, bytes, offset);
}
}
