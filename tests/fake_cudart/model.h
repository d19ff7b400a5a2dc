// What the stand-in knows: streams, events, memory, and which operation is ordered before which.
//
// Not thread-safe; runtime_api.cpp holds one lock around it.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/fake_cudart/fake_cudart.h"
#include "tests/fake_cudart/timetable.h"

namespace feedline::test::fake_cudart {

// By stream number: so many of its operations.
class VectorClock {
public:
    std::uint64_t operator[](std::size_t stream) const { return stream < counts_.size() ? counts_[stream] : 0; }
    void set(std::size_t stream, std::uint64_t count);
    void join(const VectorClock& other);
    bool covers(const VectorClock& other) const;

private:
    std::vector<std::uint64_t> counts_;
};

struct StreamState {
    std::size_t number = 0;
    int gpu = 0;
    bool alive = true;
    std::uint64_t submitted = 0;
    VectorClock after;  // what everything submitted from now on comes after
};

struct EventState {
    std::size_t number = 0;
    int gpu = 0;
    bool alive = true;
    bool sleeps = false;  // cudaEventBlockingSync
    bool recorded = false;
    VectorClock after;
    Moment time;
};

struct Operation {
    std::string what;
    std::size_t stream = 0;
    std::uint64_t count = 0;  // its place in the stream, from 1
    VectorClock after;        // itself included
    std::vector<Access> accesses;
    const unsigned* stop = nullptr;  // the flag it polls
    const std::byte* host_source = nullptr;
    std::uint64_t host_bytes = 0;
    std::uint64_t host_checksum = 0;
    cudaError_t fault = cudaSuccess;
    std::function<void()> effect;
};

class Model {
public:
    explicit Model(const Machine& machine);

    const Machine& machine() const { return machine_; }
    void violation(std::string what) { violations_.push_back(std::move(what)); }
    std::vector<std::string> take_violations();
    std::vector<std::string> leaks() const;

    StreamState* make_stream(int gpu);
    EventState* make_event(int gpu, unsigned flags);
    // The living object behind a handle; otherwise null, and a violation.
    StreamState* stream(cudaStream_t handle, const char* api);
    EventState* event(cudaEvent_t handle, const char* api);

    void submit(StreamState& stream, Operation operation, const Work& work);
    void record(EventState& event, StreamState& stream);
    Moment end_of(const StreamState& stream) { return timetable_.record(stream.number); }
    void look_at_flags() { timetable_.look_at_flags(); }
    void wait(StreamState& stream, const EventState& event);
    // The host learned that everything before is over.
    void observe(const VectorClock& over);
    void observe_all();
    // The fault of an operation that `clock` comes after, if there was one.
    cudaError_t fault_before(const VectorClock& clock) const;

    void* allocate(std::uint64_t bytes, int gpu);  // null: does not fit
    bool free(void* data);
    bool inside_gpu_memory(const void* data, std::uint64_t bytes, const char* api);
    bool pin(const void* data, std::uint64_t bytes);
    bool unpin(const void* data);
    bool pinned(const void* data, std::uint64_t bytes) const;
    void* allocate_host(std::uint64_t bytes, bool mapped);
    bool free_host(void* data);
    // Memory that the GPU sees too; otherwise false, and a violation.
    bool inside_mapped_memory(const void* data, std::uint64_t bytes, const char* what);

private:
    struct Allocation {
        std::vector<std::byte> bytes;
        int gpu = 0;
    };

    struct HostAllocation {
        std::vector<std::byte> bytes;
        bool mapped = false;
    };

    void check_races(const Operation& operation);
    void take_effect(Operation& operation);

    Machine machine_;
    std::vector<std::string> violations_;
    std::vector<std::unique_ptr<StreamState>> streams_;
    std::vector<std::unique_ptr<EventState>> events_;
    std::deque<Operation> pending_;  // in the order of submission
    VectorClock host_;               // known to be over
    Timetable timetable_;
    std::map<const std::byte*, Allocation> allocations_;
    std::map<const std::byte*, std::uint64_t> freed_;
    std::uint64_t allocated_bytes_ = 0;
    std::map<const std::byte*, std::uint64_t> pinned_;
    std::map<const std::byte*, HostAllocation> host_allocations_;
    std::map<const std::byte*, std::uint64_t> freed_host_;
};

}  // namespace feedline::test::fake_cudart
