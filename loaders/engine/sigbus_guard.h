// Copying out of a mapping whose file may shrink, or whose disk may fail, while it is being copied: the kernel then
// answers a load with SIGBUS instead of an errno.
//
// While guarded_copy() runs, a SIGBUS from its source range puts an empty page under the faulting address, so that the
// copy runs to its end, and is remembered. No jump leaves the handler, so nothing on the stack is skipped. A SIGBUS
// from anywhere else goes to the handler that was there before ours.
//
// Thread-safe: each thread has a guard of its own; the handler is process-wide and is installed by the first call of
// install_sigbus_guard(), for good.
#pragma once

#include <cstddef>

namespace feedline {

// Throws Error{unsupported} when the kernel refuses a handler.
void install_sigbus_guard();

// memcpy of `bytes` bytes out of a mapping. False when a page of the source could not be had; what arrived from such
// pages is zeros.
bool guarded_copy(std::byte* destination, const std::byte* source, std::size_t bytes);

}  // namespace feedline
