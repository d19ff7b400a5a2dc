#include "loaders/shards/stream_reader.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace feedline {

std::int64_t StreamReader::read(SampleId /*id*/, const Extent& extent, std::span<std::byte> destination) {
    if (stream_ == nullptr || shard_ != extent.shard) {
        if (const int error = open(extent.shard); error != 0) return -error;
    }
    return stream_->read(extent.offset_bytes, destination.first(extent.length_bytes));
}

// Returns 0 or an errno.
int StreamReader::open(ShardId shard) {
    stream_.reset();
    Fd fd(::open(shards_[shard].path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) return errno;
    try {
        const bool compressed = !access_.empty() && access_[shard] != nullptr;
        stream_ = compressed ? make_inflate_stream(std::move(fd), access_[shard]) : make_file_stream(std::move(fd));
    } catch (const std::exception&) {
        return ENOMEM;
    }
    shard_ = shard;
    return 0;
}

}  // namespace feedline
