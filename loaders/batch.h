// A filled batch in staging memory, and how it came to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "core/clock.h"
#include "loaders/dataset.h"

namespace feedline {

enum class SampleStatus : std::uint8_t {
    ok,
    skipped,  // failed and --on-error skip: counted, payload empty
};

struct SampleView {
    SampleId id = 0;
    std::uint64_t offset_bytes = 0;  // of the payload from Batch::data
    std::uint64_t length_bytes = 0;
    SampleStatus status = SampleStatus::ok;
};

// What one request went through. Times do not decrease: batch slot_ns <= issued <= opened <= read <= decoded <=
// ready_ns. `samples` > 1 for a coalesced run of neighbours.
struct RequestTrace {
    Nanoseconds issued_ns = 0;
    Nanoseconds opened_ns = 0;
    Nanoseconds read_ns = 0;
    Nanoseconds decoded_ns = 0;
    std::uint32_t samples = 1;
};

// Valid from BatchSource::next() until BatchSource::release().
struct Batch {
    std::uint64_t index = 0;          // 0, 1, 2, ... within the epoch; delivered in this order
    const std::byte* data = nullptr;  // start of the used span in the slab
    std::uint64_t bytes = 0;          // used span: what one copy to the device moves, padding included
    std::uint64_t payload_bytes = 0;
    std::span<const SampleView> samples;
    std::span<const RequestTrace> trace;
    std::span<const Oddity> failures;  // why samples were skipped, by kind
    // When a slot was there for this batch: the release of the batch before in it, or the start of the epoch; not when
    // the loader came round to it. Idle time before it is charged to `staging`, after it to `read` until the first
    // issue.
    Nanoseconds slot_ns = 0;
    Nanoseconds first_issue_ns = 0;  // first open or read; 0 for an empty batch
    Nanoseconds ready_ns = 0;        // h_i: complete in staging memory
};

// Where the pipeline gets its batches from: the Loader, or a script in tests.
// next() and release() may be called from two different threads; each of them from one thread only.
class BatchSource {
public:
    virtual ~BatchSource() = default;

    // The next batch in order, or nullptr at the end of the epoch or after stop(). Blocks. Throws the first error of
    // any stage.
    virtual const Batch* next() = 0;

    // The slot of batch `index` may be refilled. Called in increasing order of index, once each.
    virtual void release(std::uint64_t index) = 0;

    // Whether release_at() can be called in its place.
    virtual bool waits_for_slots() const { return false; }

    // The same ahead of time: the slot is free from `at_ns` of the monotonic clock on, and nobody needs to wake then
    // but who wants it. Only where waits_for_slots(); not mixed with release() in one epoch; from the thread of next().
    virtual void release_at(std::uint64_t index, Nanoseconds /*at_ns*/) { release(index); }

    // Issues no new reads and makes next() return nullptr soon. Callable from any thread, more than once.
    virtual void stop() = 0;

    // The first open or read of this epoch (T0); 0 while none was issued. Any thread.
    virtual Nanoseconds first_issue_ns() const = 0;

    // Since when there has been a slot for batch `index`, which next() has not yielded: kNoSlotYet while there is none.
    // Absent where the epoch has no such batch. For an epoch that is cut short while an accelerator waits for it. Any
    // thread.
    virtual std::optional<Nanoseconds> slot_since_ns(std::uint64_t index) const = 0;
    static constexpr Nanoseconds kNoSlotYet = std::numeric_limits<Nanoseconds>::max();
};

}  // namespace feedline
