#include "core/beginning.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/fd.h"

namespace feedline {

std::vector<std::byte> beginning_of(int dir_fd, const char* name, std::size_t bytes) {
    const Fd fd(openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    std::vector<std::byte> content(bytes);
    const ssize_t got = fd ? pread(fd.get(), content.data(), bytes, 0) : -1;
    content.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return content;
}

}  // namespace feedline
