#include "loaders/shards/shard_dataset.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <utility>

namespace feedline {

ShardDataset::ShardDataset(std::string path, std::string format, ShardList list, ExtentIndex index)
    : shards_(std::move(list.shards)), index_(std::move(index)) {
    info_.path = std::move(path);
    info_.format = std::move(format);
    info_.samples = index_.samples();
    info_.shards = shards_.size();
    info_.bytes = index_.bytes();
    info_.max_length_bytes = index_.max_length_bytes();
    info_.packed = true;
    info_.oddities = std::move(list.oddities);
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
