#include "loaders/engine/uring_support.h"

#ifdef FEEDLINE_HAVE_URING

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <vector>

namespace feedline {

namespace {

// From the most to the least: completions are run by the thread that waits for them (Linux 6.1), only when it enters
// the kernel anyway (5.19), or by interrupting it. Rings start disabled so that they belong to the thread that uses
// them first and not to the one that made them.
constexpr std::array<unsigned, 3> kSetups = {
    IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
    IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN,
    IORING_SETUP_R_DISABLED,
};

// A new ring may lie where another thread's old one lay. The kernel orders the unmapping before the mapping, but
// liburing does both by bare system calls, which the thread sanitizer cannot see; this says the same in its words.
std::atomic<unsigned> rings_closed{0};

int register_descriptors(io_uring& ring, unsigned count) {
    const int result = io_uring_register_files_sparse(&ring, count);  // Linux 5.19
    if (result != -EINVAL) return result;
    const std::vector<int> none(count, -1);
    return io_uring_register_files(&ring, none.data(), count);
}

// Opens a file into a direct descriptor (Linux 5.15), which is what the engines stand on.
int try_direct_descriptor(io_uring& ring) {
    if (const int error = enable_ring(ring); error != 0) return error;
    io_uring_sqe* sqe = io_uring_get_sqe(&ring);
    io_uring_prep_openat_direct(sqe, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0, 0);
    int result = 0;
    do {
        result = io_uring_submit_and_wait(&ring, 1);
    } while (result == -EINTR);
    io_uring_cqe* cqe = nullptr;
    if (result < 0) return -result;
    if (io_uring_peek_cqe(&ring, &cqe) != 0) return EIO;
    const int opened = cqe->res;
    io_uring_cqe_seen(&ring, cqe);
    return opened < 0 ? -opened : 0;
}

}  // namespace

int open_ring(unsigned entries, io_uring& ring) {
    int result = -EINVAL;
    for (const unsigned flags : kSetups) {
        io_uring_params params{};
        params.flags = flags;
        result = io_uring_queue_init_params(entries, &ring, &params);
        static_cast<void>(rings_closed.load(std::memory_order_acquire));
        if (result == -EINVAL) continue;
        if (result < 0) return -result;
        // Waiting with a time limit in the call itself (Linux 5.11).
        result = (params.features & IORING_FEAT_EXT_ARG) == 0 ? -ENOSYS : register_descriptors(ring, entries);
        if (result < 0) {
            close_ring(ring);
            return -result;
        }
        return 0;
    }
    return -result;
}

void close_ring(io_uring& ring) {
    rings_closed.fetch_add(1, std::memory_order_release);
    io_uring_queue_exit(&ring);
}

int enable_ring(io_uring& ring) {
    // io_uring_enable_rings() does the same, but is missing among the symbols of liburing 2.3.
    const int result = io_uring_register(static_cast<unsigned>(ring.ring_fd), IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
    return result < 0 ? -result : 0;
}

std::string uring_refusal() {
    io_uring ring{};
    int error = open_ring(4, ring);
    if (error == 0) {
        error = try_direct_descriptor(ring);
        close_ring(ring);
        if (error == 0) return "";
        return fmt::format("the kernel's io_uring has no direct descriptors ({}, errno {}; Linux 5.15 has them)",
                           std::generic_category().message(error), error);
    }
    const std::string_view cause = error == EPERM    ? "forbidden by seccomp or kernel.io_uring_disabled"
                                   : error == ENOSYS ? "the kernel has none, or a filter hides it"
                                   : error == ENOMEM ? "not enough memory may be locked (ulimit -l)"
                                   : error == EMFILE ? "no descriptor left (ulimit -n)"
                                                     : "refused";
    return fmt::format("io_uring: {} ({}, errno {})", cause, std::generic_category().message(error), error);
}

}  // namespace feedline

#else

namespace feedline {

std::string uring_refusal() {
    return "io_uring is not in this build (liburing was not found)";
}

}  // namespace feedline

#endif
