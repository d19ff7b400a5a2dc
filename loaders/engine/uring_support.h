// What this kernel lets us have of io_uring. Compiled with and without liburing.
#pragma once

#include <string>

struct io_uring;

namespace feedline {

// Empty when the engines uring and uring-direct can run in this process; else why not, as the end of a sentence:
// "io_uring is forbidden here (errno 1, a seccomp filter or ...)". Asks the kernel on every call.
std::string uring_refusal();

// Opens a disabled ring with `entries` places for requests and for direct descriptors; 0 or errno. Only in builds
// with liburing.
int open_ring(unsigned entries, io_uring& ring);
void close_ring(io_uring& ring);

// Makes the ring usable, by the calling thread alone where the kernel can tell threads apart; 0 or errno.
int enable_ring(io_uring& ring);

}  // namespace feedline
