#include "loaders/engine/uring_engine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/error.h"
#include "loaders/engine/engines.h"
#include "loaders/engine/uring_support.h"

namespace feedline {

namespace {

// How long nothing may complete before the engine looks whether it waits for something that is no file.
constexpr Nanoseconds kSuspiciousWaitNs = 100'000'000;

// After a read found its file not in memory so many are not tried there: what refusals cost stays below notice.
constexpr unsigned kUsualReads = 4096;

// Within a page one look at the file's length decides what is read of it. On a page of its own the byte that shows
// growth could be missing for not being in memory.
constexpr std::uint64_t kPageBytes = 4096;

// User data: the slot, or for a look at its file this and the slot, or for a cancellation nothing.
constexpr std::uint64_t kLookTag = 1ULL << 32;
constexpr std::uint64_t kCancelTag = ~0ULL;

// Kernel threads that open files whose directory entries are not in memory, at most: as deep as disks queue. Where
// everything is theirs a read in flight is a thread.
constexpr unsigned kMaxWorkers = 64;
constexpr unsigned kMaxWorkersWhereAllBlock = 4096;

}  // namespace

UringEngine::UringEngine(const EngineOptions& options)
    : kind_(options.kind),
      alignment_(options.alignment),
      faults_(options.faults),
      may_block_(options.may_block),
      slots_(options.queue_depth),
      free_slots_(options.queue_depth) {
    postponed_.reserve(options.queue_depth);
    for (std::uint32_t i = 0; i < options.queue_depth; ++i) free_slots_[i] = options.queue_depth - 1 - i;
    const int error = open_ring(options.queue_depth, ring_);
    if (error != 0) {
        const std::string what = fmt::format("the kernel refuses an io_uring of {} entries", options.queue_depth);
        // Too few descriptors are no fault of the kernel's, and what to do is known.
        if (error == EMFILE || error == ENFILE) throw Error(ErrorKind::io, what).because(error);
        throw Error(ErrorKind::unsupported, what).because(error).advise("Use a smaller queue depth or another engine");
    }
}

UringEngine::~UringEngine() {
    for (const std::uint32_t index : postponed_) free_slots_.push_back(index);
    if (operations_ > 0) {
        std::vector<bool> idle(slots_.size(), false);
        for (const std::uint32_t index : free_slots_) idle[index] = true;
        // What is queued must be known to the kernel before it can be cancelled.
        io_uring_submit(&ring_);
        for (std::uint32_t i = 0; i < slots_.size(); ++i) {
            if (!idle[i]) cancel(i);
            if (!looks_.empty() && looks_[i].under_way) cancel(kLookTag | i);
        }
        while (operations_ > 0) {
            io_uring_cqe* cqe = nullptr;
            const int result = io_uring_submit_and_wait(&ring_, 1);
            // Another thread than the ring's own: nothing can be waited for here.
            if (result < 0 && result != -EINTR && result != -EAGAIN && result != -EBUSY) break;
            while (operations_ > 0 && io_uring_peek_cqe(&ring_, &cqe) == 0) {
                io_uring_cqe_seen(&ring_, cqe);
                --operations_;
            }
        }
    }
    close_ring(ring_);
}

void UringEngine::bind_to_this_thread() {
    check_enter(-enable_ring(ring_));
    ++counters_.syscalls;
    // Cold look-ups block in the kernel's workers; by default there are four a core, whatever the queue depth is.
    std::array<unsigned, 2> workers = {std::min(max_queue_depth(), may_block_ ? kMaxWorkersWhereAllBlock : kMaxWorkers),
                                       0};
    io_uring_register_iowq_max_workers(&ring_, workers.data());
    ++counters_.syscalls;
    bound_ = true;
}

io_uring_sqe* UringEngine::next_sqe() {
    if (faults_ != nullptr && !faults_->on_submit()) return nullptr;
    return io_uring_get_sqe(&ring_);
}

bool UringEngine::queue(std::uint32_t index) {
    io_uring_sqe* sqe = next_sqe();
    if (sqe == nullptr) {
        ++counters_.retries;
        return false;
    }
    Slot& slot = slots_[index];
    if (slot.state == State::opening) {
        slot.noatime = noatime_;
        io_uring_prep_openat_direct(sqe, slot.source.dir_fd, slot.source.name,
                                    open_flags(alignment_.direct(), slot.noatime), 0, index);
        ++counters_.opens;
    } else if (slot.transfer.empty()) {
        io_uring_prep_nop(sqe);
        slot.asked_bytes = 0;
    } else {
        const std::uint64_t length = slot.transfer.length_bytes();
        slot.asked_bytes =
            faults_ == nullptr ? length : slot.transfer.severed(faults_->on_read_length(slot.tag, length));
        const bool by_name = slot.source.fd < 0;
        io_uring_prep_read(sqe, by_name ? static_cast<int>(index) : slot.source.fd, slot.transfer.destination(),
                           static_cast<unsigned>(slot.asked_bytes), slot.transfer.offset_bytes());
        if (by_name) io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
        slot.memory_only = asks_memory(slot);
        if (slot.memory_only) sqe->rw_flags = RWF_NOWAIT;
        ++counters_.reads;
    }
    if (may_block_ && sqe->opcode != IORING_OP_NOP) io_uring_sqe_set_flags(sqe, sqe->flags | IOSQE_ASYNC);
    io_uring_sqe_set_data64(sqe, index);
    ++operations_;
    return true;
}

bool UringEngine::asks_memory(const Slot& slot) {
    const bool whole_file = slot.source.fd < 0 && slot.source.whole_file;
    if (!whole_file || !memory_only_works_ || may_block_ || alignment_.direct()) return false;
    if (slot.not_in_memory || !slot.transfer.at_start() || slot.asked_bytes % kPageBytes == 1) return false;
    if (usual_reads_left_ == 0) return true;
    --usual_reads_left_;
    return false;
}

bool UringEngine::refused(Slot& slot, std::int64_t result) {
    if (!slot.memory_only || (result != -EAGAIN && result != -EOPNOTSUPP)) return false;
    --counters_.reads;  // it has not been carried out
    ++counters_.retries;
    slot.not_in_memory = true;
    memory_only_works_ = memory_only_works_ && result == -EAGAIN;
    usual_reads_left_ = kUsualReads;
    return true;
}

void UringEngine::queue_or_postpone(std::uint32_t index) {
    if (!queue(index)) postponed_.push_back(index);
}

void UringEngine::queue_postponed() {
    while (!postponed_.empty() && queue(postponed_.back())) postponed_.pop_back();
}

std::size_t UringEngine::submit(std::span<const ReadRequest> requests) {
    if (!bound_) bind_to_this_thread();
    const std::size_t room = std::min(requests.size(), free_slots_.size());
    if (room == 0) return 0;
    const Nanoseconds now = now_ns();
    // Names come from all over the index. Fetching them side by side here spares the kernel a cache miss a file.
    for (const ReadRequest& request : requests.first(room)) __builtin_prefetch(request.source.name);
    for (std::size_t i = 0; i < room; ++i) {
        const ReadRequest& request = requests[i];
        const std::uint32_t index = free_slots_.back();
        Slot& slot = slots_[index];
        slot.transfer = Transfer(request, alignment_);
        slot.source = request.source;
        slot.tag = request.tag;
        slot.issued_ns = now;
        slot.opened_ns = now;
        slot.open_retries = 0;
        slot.memory_only = false;
        slot.not_in_memory = false;
        slot.looked_at = false;
        slot.not_a_file = false;
        ++slot.generation;
        slot.state = request.source.fd < 0 ? State::opening : State::reading;
        if (!queue(index)) return i;
        free_slots_.pop_back();
    }
    return room;
}

std::size_t UringEngine::reap(std::size_t min, std::span<Completion> out, Nanoseconds timeout_ns) {
    if (in_flight() == 0 || out.empty()) return 0;
    if (!bound_) bind_to_this_thread();
    min = std::min({min, out.size(), std::size_t{in_flight()}});
    const Nanoseconds deadline = timeout_ns > 0 ? now_ns() + timeout_ns : 0;
    std::size_t count = 0;
    for (;;) {
        queue_postponed();
        if (io_uring_sq_ready(&ring_) > 0 || io_uring_cq_ready(&ring_) == 0) {
            const bool wait = count < min && postponed_.empty();
            const Nanoseconds left = timeout_ns > 0 ? std::max<Nanoseconds>(deadline - now_ns(), 0) : timeout_ns;
            const Entered entered = enter(wait ? 1 : 0, left);
            const bool expired = timeout_ns == 0 || (timeout_ns > 0 && now_ns() >= deadline);
            if (entered == Entered::interrupted || (entered == Entered::nothing && expired)) return count;
        }
        count += drain(out.subspan(count));
        if (count == out.size()) {
            if (io_uring_sq_ready(&ring_) > 0) enter(0, 0);
            return count;
        }
        // Reads that became ready are submitted before returning, so that the device works while the caller does.
        if (count >= min && io_uring_sq_ready(&ring_) == 0) return count;
    }
}

UringEngine::Entered UringEngine::enter(unsigned wait, Nanoseconds timeout_ns) {
    ++counters_.syscalls;  // each of the two calls below enters the kernel once
    if (wait == 0 || timeout_ns == 0) {
        check_enter(io_uring_submit_and_get_events(&ring_));
        return io_uring_cq_ready(&ring_) >= wait ? Entered::something : Entered::nothing;
    }
    const Nanoseconds slice = timeout_ns < 0 ? kSuspiciousWaitNs : std::min(timeout_ns, kSuspiciousWaitNs);
    __kernel_timespec ts{.tv_sec = slice / kNanosecondsPerSecond, .tv_nsec = slice % kNanosecondsPerSecond};
    io_uring_cqe* cqe = nullptr;
    const int result = io_uring_submit_and_wait_timeout(&ring_, &cqe, wait, &ts, nullptr);
    if (result == -ETIME) {
        look_at_what_is_waited_for();
        return Entered::nothing;
    }
    if (result == -EINTR) {
        ++counters_.retries;
        return Entered::interrupted;
    }
    check_enter(result);
    return result >= 0 ? Entered::something : Entered::nothing;
}

void UringEngine::check_enter(int result) {
    if (result >= 0) {
        failed_enters_ = 0;
        return;
    }
    // EAGAIN and EBUSY: no memory for requests or completions at the moment.
    const bool passing = result == -EINTR || result == -EAGAIN || result == -EBUSY;
    if (result != -EINTR) ++failed_enters_;
    if (!passing || failed_enters_ > Transfer::kMaxRetries) {
        // No completion can carry this: the ring itself is broken, or used by a thread that does not own it.
        throw Error(ErrorKind::internal, "io_uring_enter failed").because(-result);
    }
    ++counters_.retries;
}

std::size_t UringEngine::drain(std::span<Completion> out) {
    const Nanoseconds now = now_ns();
    std::size_t count = 0;
    unsigned head = 0;
    unsigned seen = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
        if (count == out.size()) break;
        ++seen;
        --operations_;
        if (cqe->user_data == kCancelTag) continue;
        const auto index = static_cast<std::uint32_t>(cqe->user_data);
        if ((cqe->user_data & kLookTag) != 0) {
            looked_at(index, cqe->res);
            continue;
        }
        if (advance(index, cqe->res, now, out[count])) {
            free_slots_.push_back(index);
            ++count;
        }
    }
    io_uring_cq_advance(&ring_, seen);
    return count;
}

bool UringEngine::advance(std::uint32_t index, std::int64_t result, Nanoseconds now, Completion& completion) {
    Slot& slot = slots_[index];
    std::int64_t final_result = 0;
    bool grew = false;
    if (slot.state == State::opening) {
        if (!opened(index, result, now, final_result)) return false;
    } else {
        if (refused(slot, result)) {
            queue_or_postpone(index);
            return false;
        }
        if (faults_ != nullptr && !slot.transfer.empty()) result = faults_->on_read(slot.tag, result);
        if (slot.not_a_file) result = -ESPIPE;
        const std::uint64_t length = slot.transfer.empty() ? 0 : slot.transfer.length_bytes();
        const Transfer::Next next =
            slot.transfer.empty() ? Transfer::Next::done : slot.transfer.account(result, slot.asked_bytes);
        if (next != Transfer::Next::done) {
            if (next == Transfer::Next::retry) ++counters_.retries;
            if (next == Transfer::Next::read && static_cast<std::uint64_t>(result) < length) ++counters_.short_reads;
            queue_or_postpone(index);
            return false;
        }
        final_result = slot.transfer.result();
        grew = slot.transfer.grew();
        // The ring reads a FIFO without complaint, where pread(2) answers ESPIPE.
        if (slot.transfer.ended_early() && slot.source.fd < 0 && !is_regular(slot)) final_result = -ESPIPE;
    }
    completion = {.tag = slot.tag,
                  .result = final_result,
                  .grew = grew,
                  .issued_ns = slot.issued_ns,
                  .opened_ns = slot.opened_ns,
                  .completed_ns = now};
    return true;
}

// True when the request is over with the open: it failed, or there is nothing to read.
bool UringEngine::opened(std::uint32_t index, std::int64_t result, Nanoseconds now, std::int64_t& final_result) {
    Slot& slot = slots_[index];
    if (faults_ != nullptr) {
        const std::int64_t changed = faults_->on_open(slot.tag, result);
        if (changed < 0) result = changed;
    }
    slot.opened_ns = now;
    if (result >= 0) {
        if (slot.transfer.empty()) return true;
        slot.state = State::reading;
        queue_or_postpone(index);
        return false;
    }
    if (result == -EPERM && slot.noatime) {
        noatime_ = false;
    } else if ((result != -EINTR && result != -EAGAIN) || ++slot.open_retries > Transfer::kMaxRetries) {
        final_result = result;
        return true;
    }
    ++counters_.retries;
    queue_or_postpone(index);
    return false;
}

bool UringEngine::is_regular(const Slot& slot) {
    struct stat status {};
    ++counters_.syscalls;
    return fstatat(slot.source.dir_fd, slot.source.name, &status, 0) != 0 || S_ISREG(status.st_mode);
}

void UringEngine::look_at_what_is_waited_for() {
    std::vector<bool> idle(slots_.size(), false);
    for (const std::uint32_t index : free_slots_) idle[index] = true;
    looks_.resize(slots_.size());
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        Look& look = looks_[i];
        if (idle[i] || slot.source.fd >= 0 || slot.state != State::reading || slot.looked_at) continue;
        if (look.under_way) continue;  // of an earlier request
        io_uring_sqe* sqe = urgent_sqe();
        if (sqe == nullptr) return;
        io_uring_prep_statx(sqe, slot.source.dir_fd, slot.source.name, 0, STATX_TYPE, &look.status);
        io_uring_sqe_set_data64(sqe, kLookTag | i);
        ++operations_;
        look.generation = slot.generation;
        look.under_way = true;
        slot.looked_at = true;
    }
}

void UringEngine::looked_at(std::uint32_t index, std::int64_t result) {
    Look& look = looks_[index];
    Slot& slot = slots_[index];
    look.under_way = false;
    if (result < 0 || S_ISREG(look.status.stx_mode)) return;
    const bool over = std::find(free_slots_.begin(), free_slots_.end(), index) != free_slots_.end();
    if (over || look.generation != slot.generation || slot.state != State::reading) return;
    slot.not_a_file = true;
    cancel(index);
}

io_uring_sqe* UringEngine::urgent_sqe() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe != nullptr) return sqe;
    io_uring_submit(&ring_);
    return io_uring_get_sqe(&ring_);
}

void UringEngine::cancel(std::uint64_t user_data) {
    io_uring_sqe* sqe = urgent_sqe();
    if (sqe == nullptr) return;  // it will be waited for instead
    io_uring_prep_cancel64(sqe, user_data, 0);
    io_uring_sqe_set_data64(sqe, kCancelTag);
    ++operations_;
}

std::unique_ptr<Engine> make_uring_engine(const EngineOptions& options) {
    return std::make_unique<UringEngine>(options);
}

}  // namespace feedline
