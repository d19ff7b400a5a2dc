#include "loaders/shards/index_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"

namespace feedline {
namespace {

// A line of some bytes stands for a record of more; what is larger than its shard and this is no index of it.
constexpr std::uint64_t kLargestOfSmallShards = 1U << 20U;

std::optional<std::string> index_beside(const std::string& shard) {
    const std::size_t slash = shard.rfind('/');
    const std::size_t dot = shard.rfind('.');
    const bool suffix = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
    const std::array<std::string, 2> names = {shard + ".idx", suffix ? shard.substr(0, dot) + ".idx" : std::string()};
    for (const std::string& name : names) {
        struct stat status {};
        if (!name.empty() && name != shard && ::stat(name.c_str(), &status) == 0 && S_ISREG(status.st_mode))
            return name;
    }
    return std::nullopt;
}

std::string text_of(const std::string& path, std::uint64_t shard_bytes) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > std::max(shard_bytes, kLargestOfSmallShards)) return {};
    FileWindow file(path, size);
    const std::span<const std::byte> bytes = file.at(0, size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::size_t> some_of(std::size_t count) {
    constexpr std::size_t kLooks = 8;
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < std::min(count, kLooks); ++i) {
        some.push_back(count <= kLooks ? i : i * (count - 1) / (kLooks - 1));
    }
    return some;
}

std::optional<Chain> chain_from_index_file(const ShardFile& shard, const ChainFormat& format,
                                           std::vector<Oddity>& oddities) {
    const std::optional<std::string> path = index_beside(shard.path);
    if (!path) return std::nullopt;
    std::string why;
    try {
        const std::string text = text_of(*path, shard.size_bytes);
        FileWindow file(shard.path, shard.size_bytes);
        Chain chain;
        if (format.read_index(text, file, chain, why)) {
            chain.finished = true;
            return chain;
        }
    } catch (const Error& error) {
        why = error.message();
    }
    oddities.push_back({"index file that does not fit its shard", 1, fmt::format("{} ({})", *path, why)});
    return std::nullopt;
}

}  // namespace feedline
