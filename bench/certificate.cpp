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

std::string metadata_state(std::string_view kind, bool dropped) {
    if (kind == "ram") return "warm";
    if (dropped) return "cold";
    // The index was read just now, and a local filesystem keeps what it found; what a network one keeps for how long is
    // its own affair.
    return kind == "block" ? "warm" : "unknown";
}

}  // namespace

CacheCertificate certify(const TierInfo& tier, std::optional<double> resident_before, const DeviceCounters& before,
                         const DeviceCounters& after, const AskedBytes& asked, bool metadata_dropped) {
    CacheCertificate out;
    out.verdict = "unknown";
    out.witness = "none";
    out.resident_before = resident_before;
    out.logical_bytes = asked.logical;
    out.least_bytes = asked.least;
    const std::string_view kind = filesystem_class(tier.fs_type);
    out.metadata = metadata_state(kind, metadata_dropped);

    if (kind == "ram") {
        // Its pages are the files; no device stands behind them.
        out.verdict = "warm";
        return out;
    }
    // What a server or a FUSE process read on our behalf shows up in neither counter.
    if (kind == "network" || kind == "fuse") return out;

    const auto of_process = difference(before.process_read_bytes, after.process_read_bytes);
    const auto of_device = difference(before.device_read_bytes, after.device_read_bytes);
    if (of_process) {
        out.device_bytes = of_process;
        out.witness = "/proc/self/io";
    } else if (of_device) {
        out.device_bytes = of_device;
        out.witness = "diskstats " + tier.block_device;
    }
    if (!out.device_bytes || !resident_before || asked.least == 0 || tier.compressed) return out;

    const double from_device = static_cast<double>(*out.device_bytes) / static_cast<double>(asked.least);
    const bool cold = *resident_before <= kNothing && from_device >= kMost;
    const bool warm = *resident_before >= 1 - kNothing && from_device <= kNothing;
    // Bytes that were counted came from a device even where we cannot name it. That none were counted proves nothing
    // there: a filesystem may read in threads of its own, and a loop device may have read from memory.
    if (tier.cached_below) {
        if (warm) out.verdict = "warm";
    } else if (cold) {
        out.verdict = "cold";
    } else if (tier.tier_kind != "unknown") {
        out.verdict = warm ? "warm" : "mixed";
    }
    return out;
}

}  // namespace feedline
