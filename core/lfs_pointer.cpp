#include "core/lfs_pointer.h"

#include <string_view>

#include "core/beginning.h"

namespace feedline {

bool is_lfs_pointer(int dir_fd, const char* name) {
    constexpr std::string_view kFirstLine = "version https://git-lfs.github.com/spec/v1\n";
    const std::vector<std::byte> start = beginning_of(dir_fd, name, kFirstLine.size());
    return std::string_view(reinterpret_cast<const char*>(start.data()), start.size()) == kFirstLine;
}

}  // namespace feedline
