#include "loaders/shards/shard_dataset.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "loaders/shards/stream_reader.h"

namespace feedline {

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
