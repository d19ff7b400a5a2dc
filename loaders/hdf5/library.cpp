#include "loaders/hdf5/library.h"

#include <cstring>

#include "core/error.h"

namespace feedline::hdf5 {
namespace {

std::mutex& process_lock() {
    static std::mutex mutex;
    return mutex;
}

herr_t collect(unsigned depth, const H5E_error2_t* entry, void* context) {
    Problem& problem = *static_cast<Problem*>(context);
    const bool described = entry->desc != nullptr && *entry->desc != '\0';
    // The innermost entry is what happened, the rest is who called whom.
    if (depth == 0 && described) problem.text = printable(entry->desc);
    if (entry->min_num == H5E_TRUNCATED) problem.truncated = true;
    if (entry->min_num == H5E_CANTLOCKFILE) problem.in_use = true;
    // The number of a read that failed is also that of one that would have led nowhere.
    if (described && std::strstr(entry->desc, "file read failed") != nullptr) problem.device = true;
    // Version 3 superblocks carry a mark; what is said of it has no number of its own.
    if (described && std::strstr(entry->desc, "already open for") != nullptr) problem.in_use = true;
    return 0;
}

}  // namespace

LibraryLock::LibraryLock() : lock_(process_lock()) {
    // Else the library would end at exit(), and wait there for a thread that hangs in a read.
    static const herr_t kNoEnd = H5dont_atexit();
    (void)kNoEnd;
    // Per thread, where the library knows threads.
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5Eclear2(H5E_DEFAULT);
}

Problem last_problem() {
    Problem problem;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &problem);
    H5Eclear2(H5E_DEFAULT);
    if (problem.text.empty()) problem.text = "libhdf5 gives no reason";
    return problem;
}

}  // namespace feedline::hdf5
