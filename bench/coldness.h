// Cold, warm, and the proof of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/tier.h"
#include "core/interrupt.h"
#include "loaders/dataset.h"

namespace feedline {

enum class CacheMode { as_is, warm, cold };

struct CacheProgress {
    std::uint64_t done = 0;  // files
    std::uint64_t total = 0;
};
// Called about ten times a second, on the caller's thread; may be empty.
using CacheProgressFn = std::function<void(const CacheProgress&)>;

// In all of these `threads` 0 means as many as cores, and an interrupt is heeded between two files (or two pieces of a
// large one); what a thread is doing in the kernel is waited for.

// Drops the dataset's pages file by file, after writing back what is dirty; no root needed. Returns how many files
// could not be opened. Pages that another process has mapped or locked stay: resident_fraction() tells. Throws
// Error{interrupted}.
std::uint64_t evict(const Dataset& dataset, unsigned threads, const CacheProgressFn& progress,
                    const Interrupt& interrupt);

// Root: syncs and drops the whole page cache with dentries and inodes. Throws Error{usage} when not allowed, before
// anything was done. `control` is the kernel's file for it.
void drop_caches(const std::string& control = "/proc/sys/vm/drop_caches");

// Reads every file once, untimed. Throws Error{interrupted}; files that fail are left out.
void warm_up(const Dataset& dataset, unsigned threads, const CacheProgressFn& progress, const Interrupt& interrupt);

// Share of the dataset's pages in the page cache, 0 to 1; nullopt when the kernel does not tell, of all files or of one
// (cachestat refused or before Linux 6.5, mincore, which answers owners only), or when no file has a page. Exact up to
// `sample_limit` files, above that a random sample of so many.
std::optional<double> resident_fraction(const Dataset& dataset, unsigned threads, std::uint64_t sample_limit = 200'000);

struct CacheCertificate {
    std::string verdict;   // "cold" | "mixed" | "warm" | "unknown"
    std::string metadata;  // "cold" | "warm" | "unknown"
    std::optional<double> resident_before;
    std::optional<std::uint64_t> device_bytes;
    std::uint64_t logical_bytes = 0;  // distinct pages asked for x page size
    std::string witness;              // of device_bytes: "/proc/self/io", "diskstats vda", "none"
    std::uint64_t least_bytes = 0;    // AskedBytes::least
    std::string reason{};             // why the verdict is unknown, to stand behind a colon; else empty
};

// What an epoch asks for.
struct AskedBytes {
    std::uint64_t logical = 0;  // distinct pages x page size
    // The least that a device delivers for it: distinct blocks x block size, where a read may bring less than a page (a
    // filesystem of smaller blocks, O_DIRECT at the end of a file). Never more than `logical`.
    std::uint64_t least = 0;
};

// What the verdict rests on.
struct CacheEvidence {
    std::optional<double> resident_before;  // resident_fraction()
    DeviceCounters before;                  // at T0
    DeviceCounters after;                   // at T1
    AskedBytes asked;
    bool direct = false;            // read with O_DIRECT, past the pages in memory
    bool metadata_dropped = false;  // drop_caches() ran just before, and the index was not read since
};

// cold: at most 1 % resident before (whatever was, with O_DIRECT) and at least 95 % of the least that must come from
// the device came from it; warm: at least 99 % resident and at most 1 % of that from the device; mixed: neither.
// unknown: on network and FUSE filesystems, which no counter of this machine sees; compressed ones; loop devices with a
// cached file below (unless warm); without an answer on residency (unless cold with O_DIRECT); where nothing was
// resident and nothing came from the device. Filesystems in memory are always warm.
CacheCertificate certify(const TierInfo& tier, const CacheEvidence& evidence);

// Counts the distinct pages of 4 KiB, or other units, that extents touch. Extents that come in order of shard and
// offset cost no memory but one entry a shard. Not thread-safe.
class PageCount {
public:
    static constexpr std::uint64_t kPageBytes = 4096;

    explicit PageCount(std::uint64_t unit_bytes = kPageBytes) : unit_bytes_(unit_bytes) {}

    void add(std::span<const Extent> extents);
    std::uint64_t pages();
    std::uint64_t bytes() { return pages() * unit_bytes_; }

private:
    struct Run {
        ShardId shard;
        std::uint64_t first_page;
        std::uint64_t last_page;
    };
    std::uint64_t unit_bytes_;
    std::vector<Run> runs_;
};

// Distinct pages times the page size, for all samples of the dataset, or for these (in any order, repeated or not).
// Where samples do not lie in their files as they are (no extents): all of the files, or as much of them as these
// samples are of all.
std::uint64_t logical_bytes(const Dataset& dataset);
std::uint64_t logical_bytes(const Dataset& dataset, std::span<const SampleId> ids);

// The same in blocks of another size, a power of two.
std::uint64_t bytes_in_blocks(const Dataset& dataset, std::uint64_t block_bytes);
std::uint64_t bytes_in_blocks(const Dataset& dataset, std::span<const SampleId> ids, std::uint64_t block_bytes);

}  // namespace feedline
