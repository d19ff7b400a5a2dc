// The CUDA runtime with owners and errors: handles that destroy themselves, and calls that throw.
//
// Thread-safety: as the runtime's own; every call acts on the calling thread's current device (use_gpu).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace feedline {

// Throws Error{io} "the GPU failed: WHAT: REASON" unless `status` is success; Error{unsupported} when the build holds
// no code for this GPU. Leaves no error behind in the runtime.
void check_cuda(cudaError_t status, const char* what);

// Makes `ordinal` the calling thread's device.
void use_gpu(int ordinal);

class Stream {
public:
    Stream();  // non-blocking: takes no notice of the default stream
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    cudaStream_t get() const { return stream_; }
    // For the way out only: spins until the stream is idle; ignores errors.
    void finish() noexcept;

private:
    cudaStream_t stream_ = nullptr;
};

// Keeps a time, and lets a waiting thread sleep.
class Event {
public:
    Event();
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    void record(const Stream& stream);
    bool complete() const;
    void wait() const;                           // the calling thread sleeps until it is complete
    void hold_back(const Stream& stream) const;  // what is enqueued from now on begins after this event
    // Both are complete. Negative when `earlier` came later. The runtime answers in float milliseconds with a
    // resolution of about 0.5 us, so the nearer the two are, the more exact it is (60 ns at 1 s, 8 us at 100 s).
    double ns_since(const Event& earlier) const;

private:
    cudaEvent_t event_ = nullptr;
};

// Memory on the GPU. Throws Error{usage} when it does not fit.
class GpuMemory {
public:
    GpuMemory() = default;
    explicit GpuMemory(std::uint64_t bytes);
    ~GpuMemory();
    GpuMemory(GpuMemory&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    GpuMemory& operator=(GpuMemory&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    std::byte* data() const { return static_cast<std::byte*>(data_); }
    std::uint64_t bytes() const { return bytes_; }

private:
    void* data_ = nullptr;
    std::uint64_t bytes_ = 0;
};

// What a kernel under way can be told: a number in pinned host memory that the GPU reads where it lies. No kernel that
// reads it may be under way when it is destroyed.
class MappedFlag {
public:
    MappedFlag();  // not set

    void set(bool on) noexcept;  // any thread; no call of the runtime
    const unsigned* on_gpu() const { return on_gpu_; }

private:
    struct FreeHost {
        void operator()(unsigned* memory) const noexcept;
    };

    std::unique_ptr<unsigned, FreeHost> memory_;
    const unsigned* on_gpu_ = nullptr;
};

}  // namespace feedline
