#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "bench/coldness.h"
#include "bench/each_file.h"
#include "core/error.h"
#include "core/fd.h"

namespace feedline {
namespace {

constexpr std::size_t kWarmReadBytes = 1U << 20U;

void evict_file(int fd) {
    // Dirty pages cannot be dropped. Writing them back is all that is needed: fsync() would also flush the device's
    // cache, once a file. What does not know sync_file_range gets the fsync.
    constexpr unsigned kWriteBack = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (::sync_file_range(fd, 0, 0, kWriteBack) != 0) ::fsync(fd);
    // What this does not achieve is seen by resident_fraction(), not by its return value.
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

void read_file(int fd, const std::function<bool()>& stop) {
    thread_local std::vector<std::byte> buffer(kWarmReadBytes);
    off_t offset = 0;
    while (!stop()) {
        const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return;
        offset += got;
    }
}

}  // namespace

std::uint64_t evict(const Dataset& dataset, unsigned threads, const CacheProgressFn& progress,
                    const Interrupt& interrupt) {
    std::once_flag synced;
    return for_each_file(dataset, {}, threads, progress, interrupt, [&](int fd, const std::function<bool()>& /*stop*/) {
        // An overlay writes back nothing of a lower layer, and of the upper one nothing by ranges.
        if (is_of_overlay(fd)) std::call_once(synced, ::sync);
        evict_file(fd);
    });
}

void warm_up(const Dataset& dataset, unsigned threads, const CacheProgressFn& progress, const Interrupt& interrupt) {
    for_each_file(dataset, {}, threads, progress, interrupt, read_file);
}

void drop_caches(const std::string& control) {
    const Fd fd(::open(control.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) {
        throw Error(ErrorKind::usage, "cannot drop the page cache")
            .at(control)
            .because(errno)
            .advise("--drop-caches needs root; --cache cold without it evicts the dataset's own pages");
    }
    // Only clean pages are dropped.
    ::sync();
    if (::write(fd.get(), "3\n", 2) != 2) throw system_error(errno, "cannot drop the page cache", control);
}

}  // namespace feedline
