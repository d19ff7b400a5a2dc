#include "loaders/files/open_below.h"

#include <fcntl.h>

#include <climits>
#include <string_view>
#include <utility>

#include "core/fd.h"

namespace feedline {

int open_directory_below(int root_fd, const std::string& relative_path) {
    std::string_view rest = relative_path;
    Fd at;
    while (rest.size() >= PATH_MAX) {
        // A component has at most 255 bytes, so there is a slash.
        const std::size_t cut = rest.rfind('/', PATH_MAX - 1);
        Fd next(openat(at ? at.get() : root_fd, std::string(rest.substr(0, cut)).c_str(),
                       O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!next) return -1;
        at = std::move(next);
        rest.remove_prefix(cut + 1);
    }
    return openat(at ? at.get() : root_fd, std::string(rest).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace feedline
