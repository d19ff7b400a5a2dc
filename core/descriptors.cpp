#include "core/descriptors.h"

#include <dirent.h>
#include <sys/resource.h>

namespace feedline {
namespace {

std::size_t open_descriptors() {
    DIR* listing = opendir("/proc/self/fd");
    if (listing == nullptr) return 0;
    std::size_t count = 0;
    while (readdir(listing) != nullptr) ++count;
    closedir(listing);
    return count;
}

}  // namespace

std::size_t descriptor_budget() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    const std::size_t used = open_descriptors();
    return limit.rlim_cur > used ? (limit.rlim_cur - used) / 2 : 0;
}

}  // namespace feedline
