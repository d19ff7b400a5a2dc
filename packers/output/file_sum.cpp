#include "packers/output/file_sum.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/fd.h"

namespace feedline {

namespace {

FileSum sum_of(const std::string& path, std::uint64_t begin_bytes, std::uint64_t end_bytes,
               const std::function<void(std::uint64_t)>& on_piece) {
    // A pipe in the file's place must not be waited for.
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) throw Error(ErrorKind::io, "a file cannot be opened").at(path).because(errno);
    (void)::posix_fadvise(fd.get(), static_cast<off_t>(begin_bytes), 0, POSIX_FADV_SEQUENTIAL);
    std::vector<std::byte> buffer(256U << 10U);  // stays in the processor's cache
    FileSum sum;
    for (std::uint64_t at = begin_bytes; at < end_bytes;) {
        const std::size_t want = std::min<std::uint64_t>(buffer.size(), end_bytes - at);
        const ssize_t n = ::pread(fd.get(), buffer.data(), want, static_cast<off_t>(at));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Error(ErrorKind::io, "a file cannot be read").at(path, at).because(errno);
        if (n == 0) break;
        const auto piece = std::span(buffer).first(static_cast<std::size_t>(n));
        sum.crc32c = crc32c(piece, sum.crc32c);
        sum.bytes += piece.size();
        at += piece.size();
        if (on_piece) on_piece(piece.size());
    }
    return sum;
}

}  // namespace

FileSum sum_of_file(const std::string& path, const std::function<void(std::uint64_t)>& on_piece) {
    return sum_of(path, 0, UINT64_MAX, on_piece);
}

FileSum sum_of_part(const std::string& path, std::uint64_t offset_bytes, std::uint64_t end_bytes) {
    return sum_of(path, offset_bytes, end_bytes, {});
}

}  // namespace feedline
