// Cold, warm, and the proof of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/interrupt.h"
#include "loaders/dataset.h"

namespace feedline {

enum class CacheMode { as_is, warm, cold };

struct CacheProgress {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
};
using CacheProgressFn = std::function<void(const CacheProgress&)>;

// Drops the dataset's pages file by file (fsync first; no root needed). Files of others that cannot be opened count in
// the return value. Throws Error{interrupted}.
std::uint64_t evict(const Dataset& dataset, unsigned threads, const CacheProgressFn& progress,
                    const Interrupt& interrupt);

// Root: syncs and drops the whole page cache with dentries and inodes. Throws Error{usage} when not allowed.
void drop_caches();

// Reads every file once, untimed. Throws Error{interrupted}; files that fail are left out.
void warm_up(const Dataset& dataset, unsigned threads, const CacheProgressFn& progress, const Interrupt& interrupt);

// Share of the dataset's pages in the page cache, 0 to 1; nullopt when the kernel does not tell (cachestat and mincore
// refused). `exact` above `sample_limit` shards is a random sample of that many.
std::optional<double> resident_fraction(const Dataset& dataset, unsigned threads, std::uint64_t sample_limit = 200'000);

// What delivers bytes and requests under a path.
struct TierInfo {
    std::string fs_type;  // "ext4", "ceph-fuse", ...
    std::string mount_point;
    std::string device;        // "/dev/vda", "tmpfs", "server:/export"
    std::string block_device;  // diskstats name, "vda"; empty when there is none
    std::string tier_kind;     // "local-ssd", "local-hdd", "ram", "network", "fuse", "loop", "unknown"
};
TierInfo tier_info(const std::string& path);

// Counters taken at T0 and T1.
struct DeviceCounters {
    std::optional<std::uint64_t> process_read_bytes;  // /proc/self/io read_bytes
    std::optional<std::uint64_t> device_read_bytes;   // diskstats of the block device
    std::optional<std::uint64_t> device_reads;        // completed reads there
};
DeviceCounters device_counters(const TierInfo& tier);

struct CacheCertificate {
    std::string verdict;   // "cold" | "mixed" | "warm" | "unknown"
    std::string metadata;  // "cold" | "warm" | "unknown"
    std::optional<double> resident_before;
    std::optional<std::uint64_t> device_bytes;
    std::uint64_t logical_bytes = 0;  // distinct pages asked for x page size
    std::string witness;              // "/proc/self/io", "diskstats vda", "none"
};
// cold: at most 1 % resident before and at least 95 % from the device; warm: at least 99 % resident and at most 1 %
// from the device.
CacheCertificate certify(const TierInfo& tier, std::optional<double> resident_before, const DeviceCounters& before,
                         const DeviceCounters& after, std::uint64_t logical_bytes, bool metadata_dropped);

// Distinct pages (4 KiB) that reading these extents touches, times the page size, for all samples of the dataset.
std::uint64_t logical_bytes(const Dataset& dataset);

}  // namespace feedline
