#include "tests/fake_cudart/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace feedline::test::fake_cudart {
namespace {

// cudaHostAlloc promises no zeros.
constexpr std::byte kFreshHostMemory{0xA5};

std::uint64_t checksum(const std::byte* data, std::uint64_t bytes) {
    std::uint64_t sum = 0xCBF29CE484222325ULL;
    for (std::uint64_t k = 0; k < bytes; ++k) sum = (sum ^ static_cast<std::uint64_t>(data[k])) * 0x100000001B3ULL;
    return sum;
}

bool overlap(const Access& a, const Access& b) {
    return a.bytes > 0 && b.bytes > 0 && a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

template <typename Ranges, typename Size>
bool inside(const Ranges& ranges, const std::byte* data, std::uint64_t bytes, Size size) {
    auto after = ranges.upper_bound(data);
    if (after == ranges.begin()) return false;
    --after;
    return data + bytes <= after->first + size(after->second);
}

}  // namespace

void VectorClock::set(std::size_t stream, std::uint64_t count) {
    if (counts_.size() <= stream) counts_.resize(stream + 1);
    counts_[stream] = count;
}

void VectorClock::join(const VectorClock& other) {
    if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t k = 0; k < other.counts_.size(); ++k) counts_[k] = std::max(counts_[k], other.counts_[k]);
}

bool VectorClock::covers(const VectorClock& other) const {
    for (std::size_t k = 0; k < other.counts_.size(); ++k)
        if ((*this)[k] < other.counts_[k]) return false;
    return true;
}

Model::Model(const Machine& machine) : machine_(machine) {}

std::vector<std::string> Model::take_violations() {
    return std::exchange(violations_, {});
}

std::vector<std::string> Model::leaks() const {
    std::vector<std::string> found;
    for (const auto& stream : streams_)
        if (stream->alive) found.push_back(fmt::format("stream {} was not destroyed", stream->number));
    for (const auto& event : events_)
        if (event->alive) found.push_back(fmt::format("event {} was not destroyed", event->number));
    for (const auto& [data, allocation] : allocations_)
        found.push_back(fmt::format("{} bytes of GPU memory were not freed", allocation.bytes.size()));
    for (const auto& [data, bytes] : pinned_)
        found.push_back(fmt::format("{} bytes of host memory stayed registered", bytes));
    for (const auto& [data, allocation] : host_allocations_)
        found.push_back(fmt::format("{} bytes of allocated host memory were not freed", allocation.bytes.size()));
    return found;
}

StreamState* Model::make_stream(int gpu) {
    streams_.push_back(std::make_unique<StreamState>());
    StreamState& stream = *streams_.back();
    stream.number = streams_.size() - 1;
    stream.gpu = gpu;
    return &stream;
}

EventState* Model::make_event(int gpu, unsigned flags) {
    events_.push_back(std::make_unique<EventState>());
    EventState& event = *events_.back();
    event.number = events_.size() - 1;
    event.gpu = gpu;
    event.sleeps = (flags & cudaEventBlockingSync) != 0;
    return &event;
}

// The objects behind handles stay until reset(), so that a handle used after its end is recognised.
StreamState* Model::stream(cudaStream_t handle, const char* api) {
    if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
        violation(fmt::format("{} on the default stream", api));
        return nullptr;
    }
    for (const auto& stream : streams_) {
        if (reinterpret_cast<cudaStream_t>(stream.get()) != handle) continue;
        if (stream->alive) return stream.get();
        violation(fmt::format("{} uses stream {} after it was destroyed", api, stream->number));
        return nullptr;
    }
    violation(fmt::format("{} uses a stream that never was", api));
    return nullptr;
}

EventState* Model::event(cudaEvent_t handle, const char* api) {
    for (const auto& event : events_) {
        if (reinterpret_cast<cudaEvent_t>(event.get()) != handle) continue;
        if (event->alive) return event.get();
        violation(fmt::format("{} uses event {} after it was destroyed", api, event->number));
        return nullptr;
    }
    violation(fmt::format("{} uses an event that never was", api));
    return nullptr;
}

void Model::submit(StreamState& stream, Operation operation, const Work& work) {
    operation.stream = stream.number;
    operation.count = ++stream.submitted;
    stream.after.set(stream.number, operation.count);
    operation.after = stream.after;
    operation.stop = work.stop;
    timetable_.submit(stream.number, stream.gpu, work);
    operation.host_checksum = checksum(operation.host_source, operation.host_bytes);
    check_races(operation);
    pending_.push_back(std::move(operation));
}

void Model::check_races(const Operation& operation) {
    for (const Operation& other : pending_) {
        if (other.count <= operation.after[other.stream]) continue;
        for (const Access& mine : operation.accesses)
            for (const Access& theirs : other.accesses)
                if ((mine.writes || theirs.writes) && overlap(mine, theirs))
                    violation(
                        fmt::format("no order between {} on stream {} and {} on stream {}, which touch the same "
                                    "GPU memory",
                                    operation.what, operation.stream, other.what, other.stream));
    }
}

void Model::record(EventState& event, StreamState& stream) {
    if (event.recorded && !host_.covers(event.after))
        violation(fmt::format("event {} was recorded anew while nobody knew that it had come", event.number));
    event.recorded = true;
    event.after = stream.after;
    event.time = timetable_.record(stream.number);
}

void Model::wait(StreamState& stream, const EventState& event) {
    stream.after.join(event.after);
    timetable_.wait(stream.number, event.time);
}

void Model::observe(const VectorClock& over) {
    host_.join(over);
    for (auto operation = pending_.begin(); operation != pending_.end();) {
        if (operation->count > host_[operation->stream]) {
            ++operation;
            continue;
        }
        take_effect(*operation);
        operation = pending_.erase(operation);
    }
}

void Model::observe_all() {
    VectorClock everything;
    for (const auto& stream : streams_) everything.set(stream->number, stream->submitted);
    observe(everything);
}

void Model::take_effect(Operation& operation) {
    if (checksum(operation.host_source, operation.host_bytes) != operation.host_checksum)
        violation(fmt::format("the host memory of {} changed before the host knew that it was over", operation.what));
    if (operation.effect) operation.effect();
}

cudaError_t Model::fault_before(const VectorClock& clock) const {
    for (const Operation& operation : pending_)
        if (operation.fault != cudaSuccess && operation.count <= clock[operation.stream]) return operation.fault;
    return cudaSuccess;
}

void* Model::allocate(std::uint64_t bytes, int gpu) {
    if (bytes > machine_.gpu_memory_bytes - allocated_bytes_) return nullptr;
    allocated_bytes_ += bytes;
    Allocation allocation{std::vector<std::byte>(bytes), gpu};
    std::byte* const data = allocation.bytes.data();
    freed_.erase(data);
    allocations_.emplace(data, std::move(allocation));
    return data;
}

bool Model::free(void* data) {
    const auto found = allocations_.find(static_cast<std::byte*>(data));
    if (found == allocations_.end()) {
        violation(freed_.count(static_cast<std::byte*>(data)) != 0 ? "GPU memory was freed twice"
                                                                   : "cudaFree of what was never allocated");
        return false;
    }
    observe_all();  // as the real one, it waits for the GPU
    allocated_bytes_ -= found->second.bytes.size();
    freed_[found->first] = found->second.bytes.size();
    allocations_.erase(found);
    return true;
}

bool Model::inside_gpu_memory(const void* data, std::uint64_t bytes, const char* api) {
    const auto* begin = static_cast<const std::byte*>(data);
    if (inside(allocations_, begin, bytes, [](const Allocation& a) { return a.bytes.size(); })) return true;
    const bool was = inside(freed_, begin, bytes, [](std::uint64_t size) { return size; });
    violation(fmt::format("{} {}", api, was ? "uses GPU memory after it was freed" : "reaches outside of GPU memory"));
    return false;
}

bool Model::pin(const void* data, std::uint64_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    const auto after = pinned_.lower_bound(begin);
    bool free = after == pinned_.end() || begin + bytes <= after->first;
    if (after != pinned_.begin()) {
        const auto before = std::prev(after);
        free = free && before->first + before->second <= begin;
    }
    if (free) pinned_[begin] = bytes;
    return free;
}

bool Model::unpin(const void* data) {
    const auto found = pinned_.find(static_cast<const std::byte*>(data));
    if (found == pinned_.end()) {
        violation("cudaHostUnregister of what is not registered");
        return false;
    }
    const std::byte* const end = found->first + found->second;
    for (const Operation& operation : pending_)
        if (operation.host_bytes > 0 && operation.host_source >= found->first && operation.host_source < end)
            violation(fmt::format("host memory was unregistered during {}", operation.what));
    observe_all();
    pinned_.erase(found);
    return true;
}

bool Model::pinned(const void* data, std::uint64_t bytes) const {
    const auto* begin = static_cast<const std::byte*>(data);
    return inside(pinned_, begin, bytes, [](std::uint64_t size) { return size; }) ||
           inside(host_allocations_, begin, bytes, [](const HostAllocation& a) { return a.bytes.size(); });
}

void* Model::allocate_host(std::uint64_t bytes, bool mapped) {
    HostAllocation allocation{std::vector<std::byte>(bytes, kFreshHostMemory), mapped};
    std::byte* const data = allocation.bytes.data();
    freed_host_.erase(data);
    host_allocations_.emplace(data, std::move(allocation));
    return data;
}

bool Model::free_host(void* data) {
    const auto found = host_allocations_.find(static_cast<std::byte*>(data));
    if (found == host_allocations_.end()) {
        violation(freed_host_.count(static_cast<std::byte*>(data)) != 0
                      ? "host memory was freed twice"
                      : "cudaFreeHost of what was never allocated by it");
        return false;
    }
    const std::byte* const end = found->first + found->second.bytes.size();
    for (Operation& operation : pending_) {
        const auto* const polled = reinterpret_cast<const std::byte*>(operation.stop);
        if (polled == nullptr || polled < found->first || polled >= end) continue;
        violation(fmt::format("host memory was freed while {} could read it", operation.what));
        timetable_.forget(std::exchange(operation.stop, nullptr));
    }
    freed_host_[found->first] = found->second.bytes.size();
    host_allocations_.erase(found);
    return true;
}

bool Model::inside_mapped_memory(const void* data, std::uint64_t bytes, const char* what) {
    const auto* begin = static_cast<const std::byte*>(data);
    const auto size = [](const HostAllocation& a) { return a.mapped ? a.bytes.size() : 0; };
    if (inside(host_allocations_, begin, bytes, size)) return true;
    const bool was = inside(freed_host_, begin, bytes, [](std::uint64_t freed) { return freed; });
    violation(fmt::format("{} {}", what,
                          was ? "uses host memory after it was freed" : "uses host memory that is not mapped"));
    return false;
}

}  // namespace feedline::test::fake_cudart
