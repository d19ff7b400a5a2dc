#include "core/lfs_pointer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "core/fd.h"

namespace feedline {

bool is_lfs_pointer(int dir_fd, const char* name) {
    constexpr std::string_view kFirstLine = "version https://git-lfs.github.com/spec/v1\n";
    // Not blocking: the file may have become a pipe since it was indexed.
    const Fd fd(openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return false;
    std::array<char, kFirstLine.size()> head{};
    const ssize_t bytes = read(fd.get(), head.data(), head.size());
    return bytes == static_cast<ssize_t>(head.size()) && std::string_view(head.data(), head.size()) == kFirstLine;
}

}  // namespace feedline
