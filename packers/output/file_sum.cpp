#include "packers/output/file_sum.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/fd.h"

namespace feedline {

FileSum sum_of_file(const std::string& path, const std::function<void(std::uint64_t)>& on_piece) {
    // A pipe in the file's place must not be waited for.
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) throw Error(ErrorKind::io, "a file cannot be opened").at(path).because(errno);
    (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    std::vector<std::byte> buffer(256U << 10U);  // stays in the processor's cache
    FileSum sum;
    for (;;) {
        const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Error(ErrorKind::io, "a file cannot be read").at(path, sum.bytes).because(errno);
        if (n == 0) return sum;
        const auto piece = std::span(buffer).first(static_cast<std::size_t>(n));
        sum.crc32c = crc32c(piece, sum.crc32c);
        sum.bytes += piece.size();
        if (on_piece) on_piece(piece.size());
    }
}

}  // namespace feedline
