#include "packers/output/file_sum.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"

namespace feedline {

// A pipe in the file's place must not be waited for.
PartReader::PartReader(std::string path)
    : path_(std::move(path)),
      fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
      buffer_(256U << 10U) {  // stays in the processor's cache
    if (!fd_) throw Error(ErrorKind::io, "a file cannot be opened").at(path_).because(errno);
    (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

void PartReader::add(FileSum& sum, std::uint64_t end_bytes, const std::function<void(std::uint64_t)>& on_piece) {
    while (sum.bytes < end_bytes) {
        const std::size_t want = std::min<std::uint64_t>(buffer_.size(), end_bytes - sum.bytes);
        const ssize_t n = ::pread(fd_.get(), buffer_.data(), want, static_cast<off_t>(sum.bytes));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Error(ErrorKind::io, "a file cannot be read").at(path_, sum.bytes).because(errno);
        if (n == 0) return;
        const auto piece = std::span(buffer_).first(static_cast<std::size_t>(n));
        sum.crc32c = crc32c(piece, sum.crc32c);
        sum.bytes += piece.size();
        if (on_piece) on_piece(piece.size());
    }
}

FileSum sum_of_file(const std::string& path, const std::function<void(std::uint64_t)>& on_piece) {
    FileSum sum;
    PartReader(path).add(sum, UINT64_MAX, on_piece);
    return sum;
}

}  // namespace feedline
