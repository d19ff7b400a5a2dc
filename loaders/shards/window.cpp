#include "loaders/shards/window.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/error.h"

namespace feedline {

FileWindow::FileWindow(std::string path, std::uint64_t size_bytes)
    : path_(std::move(path)),
      fd_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)),
      size_bytes_(size_bytes) {
    if (!fd_) throw system_error(errno, "cannot open the shard", path_);
    // Read-ahead would fetch what is jumped over.
    posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_RANDOM);
}

std::span<const std::byte> FileWindow::at(std::uint64_t offset, std::size_t want, std::size_t ahead) {
    if (offset >= size_bytes_) return {};
    const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(want, size_bytes_ - offset));
    if (offset >= begin_bytes_ && offset + there <= begin_bytes_ + held_bytes_) {
        return std::span(buffer_).subspan(offset - begin_bytes_, there);
    }
    const auto target = static_cast<std::size_t>(std::min<std::uint64_t>(want + ahead, size_bytes_ - offset));
    if (buffer_.size() < target) buffer_.resize(target);
    begin_bytes_ = offset;
    held_bytes_ = 0;
    while (held_bytes_ < there) {
        const ssize_t got = pread(fd_.get(), buffer_.data() + held_bytes_, target - held_bytes_,
                                  static_cast<off_t>(offset + held_bytes_));
        ++reads_;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw Error(ErrorKind::io, "cannot read").at(path_, offset + held_bytes_).because(errno);
        if (got == 0) {
            throw Error(ErrorKind::changed, "the file became shorter while it was being indexed")
                .at(path_, offset + held_bytes_);
        }
        held_bytes_ += static_cast<std::size_t>(got);
    }
    return std::span(buffer_).first(there);
}

}  // namespace feedline
