// What every reader reduces to: an engine that moves extents into memory.
//
// An Engine belongs to one thread. It is asynchronous in form: submit() hands over requests, reap() collects what is
// complete. A synchronous engine (pread, mmap, native) does the work inside reap(). Short reads, EINTR and EAGAIN are
// handled inside; a completion carries a negative errno and nothing on this path throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "loaders/dataset.h"

namespace feedline {

enum class EngineKind { pread, mmap, uring, uring_direct, native, null };

std::string_view to_string(EngineKind kind);          // "pread", "mmap", "uring", "uring-direct", "native", "null"
EngineKind parse_engine_kind(std::string_view name);  // throws Error{usage}

// What the layout of a batch must respect. For buffered engines all three are 1 and 0.
struct Alignment {
    std::uint32_t memory_bytes = 1;  // destination address: a multiple of this
    std::uint32_t offset_bytes = 1;  // file offset and transfer length: multiples of this
    bool direct() const { return offset_bytes > 1; }
};

// Bytes a destination must hold, and where the payload will start in it. A buffered read wants one byte more than the
// extent (growth of a whole file is noticed by it); a direct read wants the aligned superset.
struct Footprint {
    std::uint64_t capacity_bytes;
    std::uint32_t payload_offset_bytes;
};
Footprint footprint(const Alignment& alignment, const Extent& extent);

struct ReadRequest {
    Source source;                   // source.name must stay valid until this request's completion is reaped
    std::uint64_t offset_bytes = 0;  // of the extent, unaligned
    std::uint64_t length_bytes = 0;
    std::byte* destination = nullptr;  // aligned; holds footprint().capacity_bytes
    std::uint64_t tag = 0;             // returned in the completion
    SampleId sample = 0;               // the one that is asked for: what the native engine goes by
};

struct Completion {
    std::uint64_t tag = 0;
    // Payload bytes delivered at destination + footprint().payload_offset_bytes, or -errno.
    // Less than asked for: the file ended early (it shrank, or was truncated).
    std::int64_t result = 0;
    bool grew = false;          // whole_file only: the file holds more than the extent; `result` is the extent's length
    Nanoseconds issued_ns = 0;  // the request left the queue: openat (or read, when already open) was issued
    Nanoseconds opened_ns = 0;  // open was complete; equals issued_ns when already open
    Nanoseconds completed_ns = 0;  // the last byte was in memory, as the engine saw it
};

// Exact counts since construction.
struct EngineCounters {
    std::uint64_t syscalls = 0;  // entered by this engine, io_uring_enter included
    std::uint64_t opens = 0;
    std::uint64_t reads = 0;        // read operations, continuations of short reads included
    std::uint64_t short_reads = 0;  // that were continued
    std::uint64_t retries = 0;      // EINTR, EAGAIN, full ring

    EngineCounters& operator+=(const EngineCounters& more) {
        syscalls += more.syscalls;
        opens += more.opens;
        reads += more.reads;
        short_reads += more.short_reads;
        retries += more.retries;
        return *this;
    }
};

class Engine {
public:
    virtual ~Engine() = default;

    virtual EngineKind kind() const = 0;
    virtual unsigned max_queue_depth() const = 0;  // requests in flight at most
    virtual unsigned in_flight() const = 0;        // accepted and not yet reaped

    // Accepts the first n of `requests` (n <= free depth) and returns n. Does not block on I/O.
    virtual std::size_t submit(std::span<const ReadRequest> requests) = 0;

    // Waits until at least `min` completions are there, or `timeout_ns` has passed (< 0: for ever), or nothing is in
    // flight; returns how many were written to `out`. min 0 polls. May return fewer than min after an interruption:
    // call again. Synchronous engines do at most out.size() requests a call and cannot honour the timeout inside one.
    virtual std::size_t reap(std::size_t min, std::span<Completion> out, Nanoseconds timeout_ns) = 0;

    // What went wrong with the last completion that failed, in words; empty: nothing to add to its error number.
    virtual std::string problem() const { return {}; }

    virtual EngineCounters counters() const = 0;
};

// How a data file is opened, by an engine or for it. Non-blocking, so that a FIFO that took the place of a file cannot
// hang the open; regular files do not care. `noatime`: reading must not write access times, which only owners and root
// may ask for (EPERM).
int open_flags(bool direct, bool noatime);

// A seam for tests: sees every operating-system result before the engine does, and may change it. Called on the
// engine's thread. Production passes none; the cost is then one predictable branch.
class FaultHook {
public:
    virtual ~FaultHook() = default;
    // Result of an open: descriptor (>= 0, any value) or -errno. Returning a negative value makes the open count as
    // failed.
    virtual std::int64_t on_open(std::uint64_t tag, std::int64_t result) = 0;
    // Before a read of `length` bytes: how many to ask the kernel for (1 .. length). Smaller simulates a short read.
    virtual std::uint64_t on_read_length(std::uint64_t tag, std::uint64_t length) = 0;
    // Result of a read: bytes or -errno.
    virtual std::int64_t on_read(std::uint64_t tag, std::int64_t result) = 0;
    // Called once for each submission to the ring: false makes it look full for this call.
    virtual bool on_submit() = 0;
};

struct EngineOptions {
    EngineKind kind = EngineKind::pread;
    unsigned queue_depth = 1;          // of this engine, i.e. of one thread
    Alignment alignment;               // from select_engine()
    bool may_block = false;            // from select_engine()
    FaultHook* faults = nullptr;       // not owned
    const Dataset* dataset = nullptr;  // native only: whose samples are read; not owned
};

// Throws Error{usage} for a depth beyond the kernel's limit and for a dataset without a native reader,
// Error{unsupported, io} when the kernel refuses.
std::unique_ptr<Engine> make_engine(const EngineOptions& options);

// What a request for an engine becomes on this kernel, filesystem and dataset.
struct EngineSelection {
    EngineKind kind = EngineKind::pread;
    Alignment alignment;
    std::string
        fallback;  // empty, or why it is not what was asked for: "uring-direct -> uring: tmpfs refuses O_DIRECT"
    bool one_by_one = false;  // every sample is a request of its own: what the native engine needs
    // Opening or reading these files can block whoever asks, also a ring: it has to leave them to the kernel's threads.
    bool may_block = false;
};

// Probes once: io_uring (compiled in, allowed by kernel, seccomp and sysctl), O_DIRECT and its alignment (statx
// STATX_DIOALIGN, else tried) and whether reads can be asked for without blocking (RWF_NOWAIT) on the dataset's own
// filesystem. Never throws for a refusal: it falls back uring-direct
// -> uring -> pread, mmap -> pread, native -> pread where the format has no reader of its own. A dataset without
// extents is read by native, whatever was asked for.
EngineSelection select_engine(EngineKind wanted, const Dataset& dataset);

// Engines that this build and kernel can run at all, best first for an unknown tier; null is not among them, nor
// native, which depends on the dataset.
std::span<const EngineKind> available_engines();

// Largest queue depth one engine accepts on this kernel.
unsigned max_engine_queue_depth(EngineKind kind);

}  // namespace feedline
