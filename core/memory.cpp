// How much memory is left, by /proc/meminfo, the limit of address space and the cgroups this process is in.
//
// File formats: proc(5) and the kernel's Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/slab.h"

namespace feedline {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// The number after `key` on its line in a file of "key value" or "key: value kB" lines, as it stands there.
std::optional<std::uint64_t> field(const std::string& path, std::string_view key) {
    std::ifstream file(path);
    std::string name;
    std::string rest;
    while (file >> name && std::getline(file, rest)) {
        if (name != key) continue;
        std::istringstream value(rest);
        std::uint64_t number = 0;
        if (value >> number) return number;
        return std::nullopt;
    }
    return std::nullopt;
}

// A file of one number, or "max".
std::optional<std::uint64_t> single(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    if (!(file >> word)) return std::nullopt;
    if (word == "max") return kUnlimited;
    std::uint64_t number = 0;
    const auto [rest, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (problem != std::errc{} || rest != word.data() + word.size()) return std::nullopt;
    return number;
}

// What the names of a hierarchy's files are.
struct CgroupFiles {
    std::vector<std::string> limits;
    std::string usage;
    std::string cache[2];  // keys in memory.stat, of this cgroup and all below
};

const CgroupFiles kVersion1{
    {"memory.limit_in_bytes"}, "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
// Above memory.high a process is throttled until it crawls, so that too is a limit for staging memory.
const CgroupFiles kVersion2{{"memory.max", "memory.high"}, "memory.current", {"inactive_file", "active_file"}};

// What is left below the limits of one cgroup.
std::uint64_t left_in(const std::string& directory, const CgroupFiles& files) {
    std::uint64_t limit = kUnlimited;
    for (const std::string& name : files.limits)
        limit = std::min(limit, single(fmt::format("{}/{}", directory, name)).value_or(limit));
    const std::optional<std::uint64_t> usage = single(directory + "/" + files.usage);
    if (limit == kUnlimited || !usage) return kUnlimited;
    std::uint64_t used = *usage;
    for (const std::string& key : files.cache) {
        used -= std::min(used, field(directory + "/memory.stat", key).value_or(0));
    }
    return limit - std::min(limit, used);
}

// Where the memory hierarchy is mounted, and which of its cgroups the mount shows as its root.
struct Mount {
    std::string point;
    std::string root;
};

bool has_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (list.substr(0, comma) == word) return true;
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return false;
}

// A line of mountinfo: ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER_OPTIONS
std::optional<Mount> find_mount(const std::string& mountinfo, std::string_view type, std::string_view super_option) {
    std::ifstream file(mountinfo);
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string skip;
        std::string word;
        Mount mount;
        words >> skip >> skip >> skip >> mount.root >> mount.point;
        while (words >> word && word != "-") {
        }
        std::string source;
        std::string options;
        words >> word >> source >> options;
        if (word == type && (super_option.empty() || has_word(options, super_option))) return mount;
    }
    return std::nullopt;
}

// The least that is left in the cgroup `path` and in each one above it that the mount shows.
std::uint64_t left_along(const std::string& root, const Mount& mount, std::string path, const CgroupFiles& files) {
    if (mount.root != "/" && path.starts_with(mount.root)) {
        const std::string below = path.substr(mount.root.size());
        if (below.empty() || below.front() == '/') path = below;
    }
    const std::string base = root + mount.point;
    std::uint64_t left = kUnlimited;
    while (true) {
        while (!path.empty() && path.back() == '/') path.pop_back();
        std::string directory = base;
        directory += path;
        left = std::min(left, left_in(directory, files));
        if (path.empty()) return left;
        path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
}

// "Max address space  SOFT  HARD  bytes" of /proc/self/limits.
std::uint64_t address_space_limit(const std::string& root) {
    constexpr std::string_view kName = "Max address space";
    std::ifstream file(root + "/proc/self/limits");
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with(kName)) continue;
        std::istringstream words(line.substr(kName.size()));
        std::uint64_t soft = 0;
        return words >> soft ? soft : kUnlimited;
    }
    return kUnlimited;
}

}  // namespace

std::uint64_t address_space_bytes(const std::string& root) {
    return field(root + "/proc/self/status", "VmSize:").value_or(0) * 1024;
}

std::uint64_t available_memory_bytes(const std::string& root) {
    std::uint64_t left = kUnlimited;
    if (const auto kib = field(root + "/proc/meminfo", "MemAvailable:")) left = *kib * 1024;
    if (const std::uint64_t limit = address_space_limit(root); limit != kUnlimited) {
        left = std::min(left, limit - std::min(limit, address_space_bytes(root)));
    }
    // Lines of /proc/self/cgroup: HIERARCHY:CONTROLLERS:PATH; version 2 is "0::PATH".
    std::ifstream file(root + "/proc/self/cgroup");
    const std::string mountinfo = root + "/proc/self/mountinfo";
    std::string line;
    while (std::getline(file, line)) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        if (controllers.empty()) {
            const auto mount = find_mount(mountinfo, "cgroup2", {});
            if (mount) left = std::min(left, left_along(root, *mount, path, kVersion2));
        } else if (has_word(controllers, "memory")) {
            const auto mount = find_mount(mountinfo, "cgroup", "memory");
            if (mount) left = std::min(left, left_along(root, *mount, path, kVersion1));
        }
    }
    return left;
}

}  // namespace feedline
