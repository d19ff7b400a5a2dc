// Staging memory: one span, on huge pages where the kernel grants them, that the device pins and the engines fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace feedline {

// Where the slab comes from is the device's business (pinned for CUDA, plain for the emulated one); see cuda/device.h.
class Slab {
public:
    virtual ~Slab() = default;
    virtual std::byte* data() const = 0;  // aligned to 2 MiB
    virtual std::uint64_t bytes() const = 0;
};

// Memory on huge pages (MADV_HUGEPAGE), faulted in. Throws Error{usage} that says how much was asked for and how much
// there is when it does not fit what the machine or the cgroup has left (the limit, not the machine, is "memory").
std::unique_ptr<Slab> make_host_slab(std::uint64_t bytes);

// Bytes that this process may still take: the least of MemAvailable and every cgroup limit above it (v1 and v2).
std::uint64_t available_memory_bytes();

}  // namespace feedline
