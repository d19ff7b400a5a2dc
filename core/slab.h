// Staging memory: one span, on huge pages where the kernel grants them, that the device pins and the engines fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace feedline {

// Where the slab comes from is the device's business (pinned for CUDA, plain for the emulated one); see cuda/device.h.
class Slab {
public:
    // Writable behind bytes(), so that an engine may ask for a little more than it expects (a file that grew).
    static constexpr std::uint64_t kTailBytes = 64;

    virtual ~Slab() = default;
    virtual std::byte* data() const = 0;  // aligned to 2 MiB
    virtual std::uint64_t bytes() const = 0;
};

// Memory on huge pages (MADV_HUGEPAGE), faulted in by all cores. Throws Error{usage} that says how much was asked for
// and how much there is when it does not fit what the machine or the cgroup has left (the limit, not the machine, is
// "memory"), before any of it is touched; Error{io} when the kernel refuses the mapping all the same.
std::unique_ptr<Slab> make_host_slab(std::uint64_t bytes);

// Bytes that this process may still take: the least of MemAvailable, what its limit of address space leaves (ulimit -v)
// and every cgroup limit above it (v1 and v2), page cache that the limit would reclaim not counted as used. What cannot
// be read limits nothing. `root` is prepended to every path, for tests.
std::uint64_t available_memory_bytes(const std::string& root = {});

// Address space that this process has taken: what ulimit -v is held against. 0 where the kernel does not tell.
std::uint64_t address_space_bytes(const std::string& root = {});

}  // namespace feedline
