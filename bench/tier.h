// What delivers the bytes under a path: mount, filesystem, block device, kind of tier; and the counters of that device.
//
// The parsers are pure, so that every filesystem can be tested on any machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feedline {

struct TierInfo {
    std::string fs_type;  // "ext4", "fuse.sshfs", ...; "unknown"
    std::string mount_point;
    std::string device;        // the mount's source: "/dev/vda", "tmpfs", "server:/export"
    std::string block_device;  // diskstats name, "vda1"; empty when there is none
    // "local-ssd", "local-hdd", "virtual-disk" (a guest's disk, whose kind its kernel does not know), "loop", "ram",
    // "network", "fuse", "unknown"
    std::string tier_kind = "unknown";
    std::uint64_t block_bytes = 4096;  // the least that the filesystem reads at once
    // The filesystem keeps fewer bytes than the files have, so bytes read say nothing about pages.
    bool compressed = false;
    // A loop device that reads its backing file through the page cache: what it delivers may come from memory.
    bool cached_below = false;
    // Where the dataset lies below an overlay; empty where that is no other path, or cannot be told.
    std::string path_below{};
};

// Throws Error{io} when there is nothing at `path`.
TierInfo tier_info(const std::string& path);

// Counters taken at T0 and T1; what the kernel does not tell is absent.
struct DeviceCounters {
    std::optional<std::uint64_t> process_read_bytes;  // /proc/self/io read_bytes: every thread of this process
    std::optional<std::uint64_t> device_read_bytes;   // diskstats of the block device: everybody's reads
    std::optional<std::uint64_t> device_reads;        // completed reads there
};
DeviceCounters device_counters(const TierInfo& tier);

// Reads that the device completed for this process between two looks. The device counts everybody's; so the figure is
// absent where more than a twentieth of the bytes it delivered were not this process's, and everybody's where the
// kernel does not tell the process's own.
std::optional<std::uint64_t> own_device_reads(const DeviceCounters& before, const DeviceCounters& after);

// Whether an open file is an overlay's. Its inode has no pages: they are those of the file below, as a mapping shows.
bool is_of_overlay(int fd);

// ---- the parts of it, for tests

// A line of /proc/PID/mountinfo (proc(5)), escapes resolved.
struct Mount {
    std::uint64_t id = 0;
    unsigned major = 0;
    unsigned minor = 0;
    std::string root;  // what of the filesystem is mounted there; "/" but for bind mounts
    std::string mount_point;
    std::string fs_type;
    std::string source;
    std::string options;        // of the mount
    std::string super_options;  // of the filesystem
};
std::vector<Mount> parse_mountinfo(std::string_view text);

// The mount that an absolute path without links lies on: the longest mount point above it, the latest of equals.
const Mount* find_mount(std::span<const Mount> mounts, std::string_view path);

// "ram", "network", "fuse", "block", "overlay" or "other", by the filesystem's name as mountinfo gives it.
std::string_view filesystem_class(std::string_view fs_type);

// The directories that an overlay shows, the one that wins first, as its options name them (its `upperdir`, then each
// `lowerdir`). Empty when they name none.
std::vector<std::string> overlay_layers(const Mount& overlay);

// `path` is what lies on the mount, without links; `sysfs` is where /sys is looked for. An overlay is what its layers
// are that hold `path`; unknown where they differ, or cannot be seen, as from within a container.
TierInfo describe_mount(const Mount& mount, std::string_view path, std::span<const Mount> mounts,
                        const std::string& sysfs = "/sys");

std::optional<std::uint64_t> parse_process_read_bytes(std::string_view proc_io);

struct DiskCounters {
    std::uint64_t reads = 0;
    std::uint64_t read_bytes = 0;
};
std::optional<DiskCounters> parse_diskstats(std::string_view diskstats, std::string_view device);

}  // namespace feedline
