#include "loaders/hdf5/signature.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/fd.h"

namespace feedline::hdf5 {

bool has_signature(const std::string& path) {
    constexpr std::array<char, 8> kSignature = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    constexpr off_t kFirstUserblock = 512;
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    for (off_t at = 0; at < status.st_size; at = std::max(2 * at, kFirstUserblock)) {
        std::array<char, kSignature.size()> found{};
        if (pread(fd.get(), found.data(), found.size(), at) != static_cast<ssize_t>(found.size())) return false;
        if (found == kSignature) return true;
    }
    return false;
}

}  // namespace feedline::hdf5
