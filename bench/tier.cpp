#include "bench/tier.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "core/error.h"

namespace feedline {
namespace {

std::string read_text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto octal = [&](std::size_t k) { return text[i + k] >= '0' && text[i + k] <= '7'; };
        if (text[i] == '\\' && i + 3 < text.size() && octal(1) && octal(2) && octal(3)) {
            out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
            i += 3;
        } else {
            out += text[i];
        }
    }
    return out;
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Splits where `separator` stands without a backslash before it, and takes those backslashes away.
std::vector<std::string> split_escaped(std::string_view text, char separator) {
    std::vector<std::string> parts(1);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) {
            // Another separator may be escaped in it; that is for whoever splits there.
            if (text[i + 1] != separator) parts.back() += '\\';
            parts.back() += text[++i];
        } else if (text[i] == separator) {
            parts.emplace_back();
        } else {
            parts.back() += text[i];
        }
    }
    std::erase(parts, "");
    return parts;
}

// Value of `name=value` in a comma list; "" for a bare `name`.
std::optional<std::string_view> option(std::string_view options, std::string_view name) {
    for (const std::string_view one : split(options, ',')) {
        if (one == name) return std::string_view{};
        if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
            return one.substr(name.size() + 1);
    }
    return std::nullopt;
}

bool is_compressed(const Mount& mount) {
    // Read-only images that are compressed as a rule; for btrfs and f2fs the mount options say it.
    if (mount.fs_type == "squashfs" || mount.fs_type == "erofs" || mount.fs_type == "cramfs") return true;
    if (mount.fs_type == "btrfs") {
        for (const std::string_view name : {"compress", "compress-force"}) {
            const auto how = option(mount.super_options, name);
            if (how && *how != "no" && *how != "none") return true;
        }
    }
    return mount.fs_type == "f2fs" && option(mount.super_options, "compress_algorithm").has_value();
}

// A filesystem over several devices has no single line in diskstats.
bool spans_devices(const std::string& sysfs, const std::string& name) {
    std::error_code error;
    for (const auto& filesystem : std::filesystem::directory_iterator(sysfs + "/fs/btrfs", error)) {
        const std::filesystem::path devices = filesystem.path() / "devices";
        if (!std::filesystem::exists(devices / name, error)) continue;
        const std::filesystem::directory_iterator each(devices, error);
        return std::distance(begin(each), end(each)) > 1;
    }
    return false;
}

// The block device with this number, as a directory of sysfs; empty when there is none. A partition keeps its own
// name: its line in diskstats counts the reads of this filesystem alone.
std::string device_directory(const std::string& sysfs, unsigned major, unsigned minor) {
    const std::string link = sysfs + "/dev/block/" + std::to_string(major) + ":" + std::to_string(minor);
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(link.c_str(), nullptr), &std::free);
    return real ? std::string(real.get()) : std::string{};
}

std::string kind_of_device(const std::string& directory) {
    const std::filesystem::path path(directory);
    const bool partition = std::filesystem::exists(path / "partition");
    const std::filesystem::path disk = partition ? path.parent_path() : path;
    const std::string name = disk.filename().string();
    if (name.starts_with("loop")) return "loop";
    if (name.starts_with("zram") || name.starts_with("ram")) return "ram";
    const std::string rotational = read_text((disk / "queue/rotational").string());
    if (rotational.starts_with("0")) return "local-ssd";
    // Guests see `rotational` as whatever the hypervisor left it at.
    if (name.starts_with("vd") || name.starts_with("xvd")) return "virtual-disk";
    return rotational.starts_with("1") ? "local-hdd" : "unknown";
}

std::string without_links(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
    return real ? real.get() : std::string();
}

// Where the layers of an overlay hold `path`, without links.
std::vector<std::string> paths_below(const Mount& overlay, std::string_view path) {
    std::string within = overlay.root == "/" ? "" : overlay.root;
    if (path.size() > overlay.mount_point.size()) {
        within += '/';
        within += path.substr(overlay.mount_point.size());
    }
    std::vector<std::string> found;
    for (const std::string& layer : overlay_layers(overlay)) {
        std::string below = without_links(layer + within);
        if (!below.empty()) found.push_back(std::move(below));
    }
    return found;
}

void describe_block(TierInfo& tier, const Mount& mount, const std::string& sysfs) {
    std::string directory = device_directory(sysfs, mount.major, mount.minor);
    if (directory.empty() && mount.source.starts_with("/")) {
        // btrfs and others number their mounts themselves; the source names the device.
        struct stat st {};
        if (::stat(mount.source.c_str(), &st) == 0 && S_ISBLK(st.st_mode))
            directory = device_directory(sysfs, major(st.st_rdev), minor(st.st_rdev));
    }
    if (directory.empty()) return;
    const std::string name = std::filesystem::path(directory).filename().string();
    tier.tier_kind = kind_of_device(directory);
    tier.cached_below = tier.tier_kind == "loop" && !read_text(directory + "/loop/dio").starts_with("1");
    if (mount.fs_type != "btrfs" || !spans_devices(sysfs, name)) tier.block_device = name;
}

}  // namespace

std::vector<Mount> parse_mountinfo(std::string_view text) {
    std::vector<Mount> mounts;
    for (const std::string_view line : split(text, '\n')) {
        // 36 35 98:0 /root /mount/point options optional... - type source super-options
        const std::vector<std::string_view> fields = split(line, ' ');
        const auto dash =
            std::find(fields.begin() + std::min<std::ptrdiff_t>(6, std::ssize(fields)), fields.end(), "-");
        if (fields.end() - dash < 3) continue;
        const std::size_t colon = fields[2].find(':');
        if (colon == std::string_view::npos) continue;
        const auto id = number<std::uint64_t>(fields[0]);
        const auto major_number = number<unsigned>(fields[2].substr(0, colon));
        const auto minor_number = number<unsigned>(fields[2].substr(colon + 1));
        if (!id || !major_number || !minor_number) continue;
        Mount mount;
        mount.id = *id;
        mount.major = *major_number;
        mount.minor = *minor_number;
        mount.root = unescape(fields[3]);
        mount.mount_point = unescape(fields[4]);
        mount.options = fields[5];
        mount.fs_type = unescape(dash[1]);
        mount.source = unescape(dash[2]);
        if (fields.end() - dash > 3) mount.super_options = unescape(dash[3]);
        mounts.push_back(std::move(mount));
    }
    return mounts;
}

const Mount* find_mount(std::span<const Mount> mounts, std::string_view path) {
    const Mount* best = nullptr;
    for (const Mount& mount : mounts) {
        const std::string& point = mount.mount_point;
        const bool above =
            point == "/" || (path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/'));
        if (above && (best == nullptr || point.size() >= best->mount_point.size())) best = &mount;
    }
    return best;
}

std::string_view filesystem_class(std::string_view fs_type) {
    static constexpr std::array<std::string_view, 5> kRam{"tmpfs", "ramfs", "hugetlbfs", "devtmpfs", "rootfs"};
    static constexpr std::array<std::string_view, 16> kNetwork{
        "nfs",  "nfs4",   "cifs",   "smb3",     "smbfs",    "ceph",   "9p",    "afs",
        "gpfs", "lustre", "beegfs", "orangefs", "virtiofs", "wekafs", "panfs", "glusterfs"};
    // Served by a user process on behalf of another machine.
    static constexpr std::array<std::string_view, 8> kNetworkFuse{"sshfs", "ceph-fuse",     "glusterfs", "s3fs",
                                                                  "nfs",   "mountpoint-s3", "gcsfuse",   "juicefs"};
    static constexpr std::array<std::string_view, 14> kBlock{"ext2",     "ext3",  "ext4",     "xfs",    "btrfs",
                                                             "f2fs",     "vfat",  "exfat",    "ntfs3",  "jfs",
                                                             "reiserfs", "erofs", "squashfs", "iso9660"};
    if (contains(kRam, fs_type)) return "ram";
    if (contains(kNetwork, fs_type)) return "network";
    if (fs_type.starts_with("fuse.")) return contains(kNetworkFuse, fs_type.substr(5)) ? "network" : "fuse";
    if (fs_type == "fuse" || fs_type == "fuseblk") return "fuse";
    if (contains(kBlock, fs_type)) return "block";
    if (fs_type == "overlay") return "overlay";
    return "other";
}

std::vector<std::string> overlay_layers(const Mount& overlay) {
    std::vector<std::string> upper;
    std::vector<std::string> lower;
    for (const std::string& option : split_escaped(overlay.super_options, ',')) {
        const std::size_t equals = option.find('=');
        if (equals == std::string::npos) continue;
        const std::string name = option.substr(0, equals);
        const std::string value = option.substr(equals + 1);
        // One that was added by itself (Linux 6.8) is no list.
        if (name == "upperdir") upper = {value};
        if (name == "lowerdir+") lower.push_back(value);
        if (name != "lowerdir") continue;
        for (std::string& layer : split_escaped(value, ':')) lower.push_back(std::move(layer));
    }
    upper.insert(upper.end(), lower.begin(), lower.end());
    return upper;
}

TierInfo describe_mount(const Mount& mount, std::string_view path, std::span<const Mount> mounts,
                        const std::string& sysfs) {
    TierInfo tier;
    tier.fs_type = mount.fs_type;
    tier.mount_point = mount.mount_point;
    tier.device = mount.source;
    tier.compressed = is_compressed(mount);
    const std::string_view kind = filesystem_class(mount.fs_type);
    if (kind == "ram" || kind == "network" || kind == "fuse") {
        tier.tier_kind = kind;
    } else if (kind == "overlay") {
        std::optional<TierInfo> below;
        for (const std::string& held : paths_below(mount, path)) {
            const Mount* under = find_mount(mounts, held);
            if (under == nullptr || under->fs_type == "overlay") return tier;
            TierInfo layer = describe_mount(*under, held, mounts, sysfs);
            // A directory that several layers hold has files of each.
            if (below && layer.mount_point != below->mount_point) return tier;
            if (below) continue;
            layer.path_below = held;
            below = std::move(layer);
        }
        if (!below) return tier;
        tier = *std::move(below);
        tier.fs_type = mount.fs_type;
        tier.mount_point = mount.mount_point;
    } else {
        describe_block(tier, mount, sysfs);
    }
    return tier;
}

TierInfo tier_info(const std::string& path) {
    std::string real = without_links(path);
    // A pattern of shards names no file of its own.
    if (real.empty() && errno == ENOENT && path.find_first_of("*?[", path.rfind('/') + 1) != std::string::npos) {
        const std::filesystem::path directory = std::filesystem::path(path).parent_path();
        real = without_links(directory.empty() ? "." : directory.native());
    }
    if (real.empty()) throw system_error(errno, "cannot tell what storage this is", path);
    const std::vector<Mount> mounts = parse_mountinfo(read_text("/proc/self/mountinfo"));
    const Mount* mount = nullptr;
    // The kernel knows the mount best (Linux 5.8); bind mounts and mounts over mounts confuse prefixes.
    struct statx sx {};
    if (::statx(AT_FDCWD, real.c_str(), 0, STATX_MNT_ID, &sx) == 0 && (sx.stx_mask & STATX_MNT_ID) != 0) {
        const auto it =
            std::find_if(mounts.begin(), mounts.end(), [&](const Mount& one) { return one.id == sx.stx_mnt_id; });
        if (it != mounts.end()) mount = &*it;
    }
    if (mount == nullptr) mount = find_mount(mounts, real);
    if (mount == nullptr) {
        TierInfo unknown;
        unknown.fs_type = "unknown";
        return unknown;
    }
    TierInfo tier = describe_mount(*mount, real, mounts);
    struct statvfs filesystem {};
    // Some network filesystems call a block what they like to transfer at once; no matter, for only less than a page
    // counts.
    const std::string& holds_it = tier.path_below.empty() ? real : tier.path_below;
    if (::statvfs(holds_it.c_str(), &filesystem) == 0 && filesystem.f_frsize >= 512)
        tier.block_bytes = filesystem.f_frsize;
    return tier;
}

bool is_of_overlay(int fd) {
    struct statfs filesystem {};
    return ::fstatfs(fd, &filesystem) == 0 && filesystem.f_type == OVERLAYFS_SUPER_MAGIC;
}

std::optional<std::uint64_t> parse_process_read_bytes(std::string_view proc_io) {
    static constexpr std::string_view kName = "read_bytes: ";
    for (const std::string_view line : split(proc_io, '\n'))
        if (line.starts_with(kName)) return number<std::uint64_t>(line.substr(kName.size()));
    return std::nullopt;
}

// Documentation/admin-guide/iostats.rst of Linux: after the name, reads completed, reads merged, sectors read; a sector
// here is always 512 bytes.
std::optional<DiskCounters> parse_diskstats(std::string_view diskstats, std::string_view device) {
    static constexpr std::uint64_t kSectorBytes = 512;
    for (const std::string_view line : split(diskstats, '\n')) {
        const std::vector<std::string_view> fields = split(line, ' ');
        if (fields.size() < 6 || fields[2] != device) continue;
        const auto reads = number<std::uint64_t>(fields[3]);
        const auto sectors = number<std::uint64_t>(fields[5]);
        if (!reads || !sectors) return std::nullopt;
        return DiskCounters{*reads, *sectors * kSectorBytes};
    }
    return std::nullopt;
}

std::optional<std::uint64_t> own_device_reads(const DeviceCounters& before, const DeviceCounters& after) {
    const auto grown = [](const std::optional<std::uint64_t>& from, const std::optional<std::uint64_t>& to) {
        return from && to && *to >= *from ? std::optional(*to - *from) : std::nullopt;
    };
    const auto reads = grown(before.device_reads, after.device_reads);
    const auto everybody = grown(before.device_read_bytes, after.device_read_bytes);
    const auto own = grown(before.process_read_bytes, after.process_read_bytes);
    constexpr double kOwn = 0.95;
    if (reads && everybody && own && static_cast<double>(*own) < kOwn * static_cast<double>(*everybody)) return {};
    return reads;
}

DeviceCounters device_counters(const TierInfo& tier) {
    DeviceCounters counters;
    counters.process_read_bytes = parse_process_read_bytes(read_text("/proc/self/io"));
    if (tier.block_device.empty()) return counters;
    if (const auto disk = parse_diskstats(read_text("/proc/diskstats"), tier.block_device)) {
        counters.device_reads = disk->reads;
        counters.device_read_bytes = disk->read_bytes;
    }
    return counters;
}

}  // namespace feedline
