#include "loaders/shards/shard_dataset.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "loaders/shards/stream_reader.h"

namespace feedline {
namespace {

std::uint64_t lost_samples(std::span<const ShardFile> shards, std::span<const Oddity> oddities, std::uint64_t samples) {
    std::uint64_t bytes = 0;
    std::uint64_t lost_bytes = 0;
    std::uint64_t faults = 0;
    for (const ShardFile& shard : shards) bytes += shard.size_bytes;
    for (const Oddity& oddity : oddities) {
        lost_bytes += oddity.lost_bytes;
        if (oddity.lost_bytes > 0) faults += oddity.count;
    }
    if (lost_bytes >= bytes) return faults;
    const double mean_bytes = static_cast<double>(bytes - lost_bytes) / static_cast<double>(samples);
    return std::max(faults, static_cast<std::uint64_t>(static_cast<double>(lost_bytes) / mean_bytes));
}

}  // namespace

ShardDataset::ShardDataset(std::string path, std::string format, ShardList list, ExtentIndex index,
                           std::vector<std::shared_ptr<const AccessPoints>> access)
    : shards_(std::move(list.shards)),
      index_(std::move(index)),
      access_(std::move(access)),
      compressed_(std::any_of(access_.begin(), access_.end(), [](const auto& points) { return points != nullptr; })) {
    info_.path = std::move(path);
    info_.format = std::move(format);
    info_.samples = index_.samples();
    info_.shards = shards_.size();
    info_.bytes = index_.bytes();
    info_.max_length_bytes = index_.max_length_bytes();
    info_.packed = true;
    info_.oddities = std::move(list.oddities);
    if (info_.samples > 0) info_.lost_samples = lost_samples(shards_, info_.oddities, info_.samples);
}

std::unique_ptr<NativeReader> ShardDataset::native_reader() const {
    return std::make_unique<StreamReader>(shards_, access_);
}

Source ShardDataset::source(ShardId shard, std::string& /*scratch*/) const {
    return {.fd = -1, .dir_fd = AT_FDCWD, .name = shards_[shard].path.c_str(), .whole_file = false};
}

std::string ShardDataset::key(SampleId id) const {
    const ShardId shard = index_.extent(id).shard;
    const std::string& shard_path = shards_[shard].path;
    const std::size_t slash = shard_path.rfind('/');
    return fmt::format("{}#{}", slash == std::string::npos ? shard_path : shard_path.substr(slash + 1),
                       id - index_.first_sample(shard));
}

}  // namespace feedline
