#include <utility>

#include "bench/coldness.h"

namespace feedline {
namespace {

constexpr double kNothing = 0.01;  // at most this share counts as none
constexpr double kMost = 0.95;     // at least this share from the device counts as all

std::optional<std::uint64_t> difference(const std::optional<std::uint64_t>& before,
                                        const std::optional<std::uint64_t>& after) {
    if (!before || !after || *after < *before) return std::nullopt;
    return *after - *before;
}

// "ram", "network", "fuse", or else the filesystem's class. An overlay is what it lies on.
std::string_view storage_class(const TierInfo& tier) {
    const std::string_view kind = filesystem_class(tier.fs_type);
    if (kind != "overlay") return kind;
    const std::string_view below = tier.tier_kind;
    // A disk in memory has pages above it like any other disk.
    const bool no_disk = below == "network" || below == "fuse" || (below == "ram" && tier.block_device.empty());
    return no_disk ? below : kind;
}

std::string metadata_state(std::string_view kind, bool dropped) {
    if (kind == "ram") return "warm";
    if (dropped) return "cold";
    // The index was read just now, and a local filesystem keeps what it found; what a network one keeps for how long is
    // its own affair.
    return kind == "block" ? "warm" : "unknown";
}

// A verdict, or why there is none.
struct Verdict {
    std::string word;
    std::string reason{};
};

Verdict unknown(std::string reason) {
    return {"unknown", std::move(reason)};
}

Verdict judge(const TierInfo& tier, const CacheEvidence& evidence, const std::optional<std::uint64_t>& device_bytes) {
    if (!device_bytes) return unknown("the kernel does not tell what came from the device");
    if (evidence.asked.least == 0) return unknown("nothing was asked for");
    if (tier.compressed) return unknown(tier.fs_type + " keeps fewer bytes than the files have");

    const std::optional<double>& resident = evidence.resident_before;
    const double from_device = static_cast<double>(*device_bytes) / static_cast<double>(evidence.asked.least);
    const bool none_resident = resident && *resident <= kNothing;
    const bool warm = resident && *resident >= 1 - kNothing && from_device <= kNothing;
    if (tier.cached_below) {
        return warm ? Verdict{"warm"} : unknown("the file behind the loop device may be in memory");
    }
    if (from_device >= kMost && (none_resident || evidence.direct)) return {"cold"};
    if (warm) return {"warm"};
    if (!resident) return unknown("the kernel does not tell this user which pages are in memory");
    if (none_resident && from_device <= kNothing) {
        return unknown("nothing was in the page cache before, and nothing is counted as read from a device");
    }
    // That few were counted proves nothing of a device that we cannot name: a filesystem may have a cache of its own,
    // and read in threads of its own.
    if (tier.tier_kind == "unknown") return unknown("what " + tier.fs_type + " lies on cannot be seen from here");
    // Some of the dataset was in memory, and what was read was of that.
    if (from_device <= kNothing) return {"warm"};
    return {"mixed"};
}

}  // namespace

CacheCertificate certify(const TierInfo& tier, const CacheEvidence& evidence) {
    CacheCertificate out;
    out.witness = "none";
    out.resident_before = evidence.resident_before;
    out.logical_bytes = evidence.asked.logical;
    out.least_bytes = evidence.asked.least;
    const std::string_view kind = storage_class(tier);
    out.metadata = metadata_state(kind, evidence.metadata_dropped);

    if (kind == "ram") {
        // Its pages are the files; no device stands behind them.
        out.verdict = "warm";
        return out;
    }
    if (kind == "network" || kind == "fuse") {
        out.verdict = "unknown";
        out.reason = "no counter here sees what came from a memory behind " + tier.fs_type;
        return out;
    }

    const auto of_process = difference(evidence.before.process_read_bytes, evidence.after.process_read_bytes);
    const auto of_device = difference(evidence.before.device_read_bytes, evidence.after.device_read_bytes);
    if (of_process) {
        out.device_bytes = of_process;
        out.witness = "/proc/self/io";
    } else if (of_device) {
        out.device_bytes = of_device;
        out.witness = "diskstats " + tier.block_device;
    }
    Verdict verdict = judge(tier, evidence, out.device_bytes);
    out.verdict = std::move(verdict.word);
    out.reason = std::move(verdict.reason);
    return out;
}

}  // namespace feedline
