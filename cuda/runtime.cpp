#include "cuda/runtime.h"

#include <atomic>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

namespace feedline {

void check_cuda(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // the runtime keeps a copy, which would be blamed on a later call
    if (status == cudaErrorNoKernelImageForDevice)
        throw Error(ErrorKind::unsupported, "this build has no code for this GPU")
            .advise("build with -DCMAKE_CUDA_ARCHITECTURES=native");
    throw Error(ErrorKind::io, fmt::format("the GPU failed: {}: {}", what, cudaGetErrorString(status)));
}

void use_gpu(int ordinal) {
    check_cuda(cudaSetDevice(ordinal), "cannot select it");
}

Stream::Stream() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cannot make a stream");
}

Stream::~Stream() {
    static_cast<void>(cudaStreamDestroy(stream_));
}

void Stream::finish() noexcept {
    static_cast<void>(cudaStreamSynchronize(stream_));
}

Event::Event() {
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync), "cannot make an event");
}

Event::~Event() {
    static_cast<void>(cudaEventDestroy(event_));
}

void Event::record(const Stream& stream) {
    check_cuda(cudaEventRecord(event_, stream.get()), "cannot record an event");
}

bool Event::complete() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
        static_cast<void>(cudaGetLastError());  // an answer, but the runtime keeps it as the last error
        return false;
    }
    check_cuda(status, "the work before an event");
    return true;
}

void Event::wait() const {
    check_cuda(cudaEventSynchronize(event_), "the work before an event");
}

void Event::hold_back(const Stream& stream) const {
    check_cuda(cudaStreamWaitEvent(stream.get(), event_, cudaEventWaitDefault), "cannot make a stream wait");
}

double Event::ns_since(const Event& earlier) const {
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, earlier.event_, event_), "cannot read the time of an event");
    return static_cast<double>(ms) * 1e6;
}

GpuMemory::GpuMemory(std::uint64_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const cudaError_t status = cudaMalloc(&data_, bytes);
    if (status == cudaErrorMemoryAllocation) {
        static_cast<void>(cudaGetLastError());
        throw Error(ErrorKind::usage,
                    fmt::format("{} do not fit the GPU's free memory", format_size(static_cast<double>(bytes))))
            .advise("use fewer --slots or a smaller --batch-size");
    }
    check_cuda(status, "cannot allocate memory");
}

GpuMemory::~GpuMemory() {
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
}

MappedFlag::MappedFlag() {
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, sizeof(unsigned), cudaHostAllocMapped), "cannot allocate mapped memory");
    memory_.reset(static_cast<unsigned*>(memory));
    set(false);
    void* on_gpu = nullptr;
    check_cuda(cudaHostGetDevicePointer(&on_gpu, memory, 0), "cannot map memory");
    on_gpu_ = static_cast<const unsigned*>(on_gpu);
}

void MappedFlag::set(bool on) noexcept {
    std::atomic_ref(*memory_).store(on ? 1 : 0);
}

void MappedFlag::FreeHost::operator()(unsigned* memory) const noexcept {
    static_cast<void>(cudaFreeHost(memory));
}

}  // namespace feedline
