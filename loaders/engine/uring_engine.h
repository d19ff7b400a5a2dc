// Buffered and direct reads over io_uring, one ring an engine.
//
// Two phases instead of chains: an open completes, then its read is submitted, together with everything else that has
// become ready; one io_uring_enter serves as many files as the queue is deep. Each slot of the engine owns one place in
// the ring's table of direct descriptors, so no descriptor is ever allocated in the process. A file is closed by the
// kernel when the next one is opened into its place (or the engine ends): that saves an operation a file, and no
// failure can leak what never has to be closed. It also means that up to queue_depth files stay open a little longer
// than they are read.
//
//   submit()          reap()
//   ---------->  OPENING  --opened-->  READING  --all bytes--> completion
//                   |  ^ EINTR, EAGAIN    |  ^ short, EINTR, EAGAIN
//                   +--+                  +--+
//
// A whole file is asked for with one byte more than it should have, and the ring answers a read that comes back short
// by reading on by itself, only to find the end. So the first read of a file is asked for what is in memory alone
// (RWF_NOWAIT), which is answered at once; where it is not in memory, the read is asked for again as usual, and so are
// the next few thousand.
//
// A ring tries each operation at once, in the thread that submits it, and leaves it to a thread of the kernel where the
// file says that it would have to wait. Not all say so: FUSE, and most of what is not a local disk, wait then and
// there, and nobody reaps what has been answered meanwhile. For those (`may_block`) every open and read goes to the
// kernel's threads from the beginning.
//
// The ring is bound to the thread of the first submit() or reap(); the destructor must run there too, or with nothing
// in flight. It cancels what is in flight and waits for the kernel's answer, because until then the kernel may write
// into destinations. A read that hangs in an uninterruptible device wait makes it wait as long: who cannot afford that
// leaks the engine, with its destinations.
#pragma once

#include <liburing.h>
#include <sys/stat.h>

#include <cstdint>
#include <vector>

#include "loaders/engine/engine.h"
#include "loaders/engine/transfer.h"

namespace feedline {

class UringEngine final : public Engine {
public:
    // Throws Error{unsupported} when the kernel refuses a ring or its table of descriptors.
    explicit UringEngine(const EngineOptions& options);
    ~UringEngine() override;
    UringEngine(const UringEngine&) = delete;
    UringEngine& operator=(const UringEngine&) = delete;

    EngineKind kind() const override { return kind_; }
    unsigned max_queue_depth() const override { return static_cast<unsigned>(slots_.size()); }
    unsigned in_flight() const override { return static_cast<unsigned>(slots_.size() - free_slots_.size()); }
    std::size_t submit(std::span<const ReadRequest> requests) override;
    std::size_t reap(std::size_t min, std::span<Completion> out, Nanoseconds timeout_ns) override;
    EngineCounters counters() const override { return counters_; }

private:
    enum class State : std::uint8_t { opening, reading };

    struct Slot {
        Transfer transfer;
        Source source;
        std::uint64_t tag = 0;
        std::uint64_t asked_bytes = 0;
        Nanoseconds issued_ns = 0;
        Nanoseconds opened_ns = 0;
        unsigned open_retries = 0;
        unsigned generation = 0;  // counts the requests that had this place
        State state = State::opening;
        bool noatime = false;
        bool memory_only = false;    // the read in flight is
        bool not_in_memory = false;  // a read that was has been refused
        bool looked_at = false;      // what it is has been asked
        bool not_a_file = false;     // found to be a FIFO, a device, ... and cancelled
    };

    // What a read that does not come back is a read of: asked through the ring, because whoever asks a mount that hangs
    // hangs himself.
    struct Look {
        struct statx status {};
        unsigned generation = 0;  // of the slot, when it was asked
        bool under_way = false;
    };

    void bind_to_this_thread();
    io_uring_sqe* next_sqe();
    // Whether the slot's next read is asked for what is in memory alone.
    bool asks_memory(const Slot& slot);
    // Whether `result` says that what was asked for is not in memory; the slot is then to be queued again.
    bool refused(Slot& slot, std::int64_t result);
    // Queues the operation that the slot's state asks for; false when the ring is full.
    bool queue(std::uint32_t index);
    void queue_or_postpone(std::uint32_t index);
    void queue_postponed();
    enum class Entered : std::uint8_t { something, nothing, interrupted };
    // Submits what is queued and collects; waits for `wait` completions, at most `timeout_ns` or a short while.
    Entered enter(unsigned wait, Nanoseconds timeout_ns);
    void check_enter(int result);
    std::size_t drain(std::span<Completion> out);
    // True when the slot is complete, with its result in `completion`.
    bool advance(std::uint32_t index, std::int64_t result, Nanoseconds now, Completion& completion);
    bool opened(std::uint32_t index, std::int64_t result, Nanoseconds now, std::int64_t& final_result);
    bool is_regular(const Slot& slot);
    void look_at_what_is_waited_for();
    void looked_at(std::uint32_t index, std::int64_t result);
    void cancel(std::uint64_t user_data);
    io_uring_sqe* urgent_sqe();

    EngineKind kind_;
    Alignment alignment_;
    FaultHook* faults_;
    bool may_block_;
    io_uring ring_{};
    bool bound_ = false;
    bool noatime_ = true;            // see FileOpener
    bool memory_only_works_ = true;  // of this filesystem and kernel, as far as is known
    unsigned usual_reads_left_ = 0;  // until memory is asked again
    std::vector<Slot> slots_;
    std::vector<Look> looks_;  // by slot; empty until the first
    std::vector<std::uint32_t> free_slots_;
    std::vector<std::uint32_t> postponed_;  // found the ring full
    unsigned operations_ = 0;               // queued or in the kernel
    unsigned failed_enters_ = 0;            // in a row
    EngineCounters counters_;
};

}  // namespace feedline
