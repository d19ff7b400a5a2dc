#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <vector>

#include "bench/coldness.h"
#include "bench/each_file.h"

namespace feedline {
namespace {

// cachestat(2), Linux 6.5; Debian 12's headers do not have it yet.
constexpr long kSysCachestat = 451;
struct CachestatRange {
    std::uint64_t offset;
    std::uint64_t length;  // 0: to the end
};
struct Cachestat {
    std::uint64_t cached_pages;
    std::uint64_t dirty_pages;
    std::uint64_t writeback_pages;
    std::uint64_t evicted_pages;
    std::uint64_t recently_evicted_pages;
};

std::optional<std::uint64_t> cached_by_mincore(int fd, const struct stat& st, std::uint64_t pages) {
    // To others than the owner (or who may write) mincore says that every page is there, since Linux 5.2.
    if (::geteuid() != 0 && ::geteuid() != st.st_uid) return std::nullopt;
    const auto length = static_cast<std::size_t>(st.st_size);
    void* map = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return std::nullopt;
    std::vector<unsigned char> state(pages);
    const int result = ::mincore(map, length, state.data());
    ::munmap(map, length);
    if (result != 0) return std::nullopt;
    return static_cast<std::uint64_t>(
        std::count_if(state.begin(), state.end(), [](unsigned char one) { return (one & 1U) != 0; }));
}

std::optional<std::uint64_t> cached_pages(int fd, const struct stat& st, std::uint64_t pages) {
    // cachestat looks at the overlay's own inode; a mapping is of the file below.
    if (is_of_overlay(fd)) return cached_by_mincore(fd, st, pages);
    CachestatRange range{0, 0};
    Cachestat found{};
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
    if (::syscall(kSysCachestat, fd, &range, &found, 0U) == 0) return std::min(found.cached_pages, pages);
    // EPERM is its answer for files of others; no other way of asking may get around that.
    if (errno != ENOSYS && errno != EOPNOTSUPP) return std::nullopt;
    return cached_by_mincore(fd, st, pages);
}

std::vector<ShardId> random_shards(std::uint64_t shards, std::uint64_t count) {
    std::mt19937_64 random(shards);  // the same sample of the same dataset, before and after
    std::uniform_int_distribution<std::uint64_t> any(0, shards - 1);
    std::vector<ShardId> sample(count);
    for (ShardId& shard : sample) shard = static_cast<ShardId>(any(random));
    return sample;
}

}  // namespace

std::optional<double> resident_fraction(const Dataset& dataset, unsigned threads, std::uint64_t sample_limit) {
    const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::vector<ShardId> sample;
    const std::uint64_t shards = dataset.info().shards;
    if (shards == 0) return std::nullopt;
    if (shards > sample_limit) sample = random_shards(shards, sample_limit);

    std::atomic<std::uint64_t> pages{0};
    std::atomic<std::uint64_t> resident{0};
    std::atomic<bool> untold{false};
    const Interrupt never;
    for_each_file(dataset, sample, threads, {}, never, [&](int fd, const std::function<bool()>& /*stop*/) {
        struct stat st {};
        if (::fstat(fd, &st) != 0 || st.st_size <= 0) return;
        const std::uint64_t own = (static_cast<std::uint64_t>(st.st_size) + page_bytes - 1) / page_bytes;
        const auto cached = cached_pages(fd, st, own);
        if (!cached) {
            untold = true;
            return;
        }
        pages += own;
        resident += *cached;
    });
    if (untold || pages == 0) return std::nullopt;
    return static_cast<double>(resident) / static_cast<double>(pages);
}

}  // namespace feedline
