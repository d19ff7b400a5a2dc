#include "loaders/engine/file_opener.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "loaders/engine/engines.h"
#include "loaders/engine/transfer.h"

namespace feedline {

int open_flags(bool direct, bool noatime) {
    return O_RDONLY | O_NONBLOCK | O_NOCTTY | (direct ? O_DIRECT : 0) | (noatime ? O_NOATIME : 0);
}

int FileOpener::open(const Source& source, std::uint64_t tag, EngineCounters& counters) {
    for (unsigned tries = 0;; ++tries) {
        ++counters.opens;
        ++counters.syscalls;
        int result = openat(source.dir_fd, source.name, open_flags(false, noatime_) | O_CLOEXEC);
        if (result < 0) result = -errno;
        if (faults_ != nullptr) {
            const auto changed = static_cast<int>(faults_->on_open(tag, result));
            if (changed < 0 && result >= 0) {
                ++counters.syscalls;
                close(result);
            }
            // The hook may turn a success into a failure; a descriptor it cannot make.
            result = changed < 0 ? changed : result;
        }
        if (result >= 0) return result;
        if (result == -EPERM && noatime_) {
            noatime_ = false;
        } else if ((result != -EINTR && result != -EAGAIN) || tries >= Transfer::kMaxRetries) {
            return result;
        }
        ++counters.retries;
    }
}

}  // namespace feedline
