#include "cuda/spin_kernel.h"

namespace feedline {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned long long kSamples = 4096;

// The clock of the events, too; clock64() would count cycles, whose length changes with the load.
__device__ unsigned long long nanosecond_clock() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void feedline_spin_step(const unsigned char* batch, unsigned long long bytes, unsigned long long spin_ns,
                                   unsigned* sum) {
    const unsigned long long begin = nanosecond_clock();
    const unsigned long long stride = bytes / kSamples + 1;
    unsigned own = 0;
    for (unsigned long long at = threadIdx.x * stride; at < bytes; at += kThreads * stride) own += batch[at];
    atomicAdd(sum, own);
    if (threadIdx.x != 0) return;
    while (nanosecond_clock() - begin < spin_ns) {
    }
}

}  // namespace

cudaError_t launch_spin_kernel(cudaStream_t stream, const unsigned char* batch, std::uint64_t bytes,
                               std::uint64_t spin_ns, unsigned* sum) {
    unsigned long long size = bytes;
    unsigned long long length = spin_ns;
    void* arguments[] = {&batch, &size, &length, &sum};
    // Not <<<>>>: this way the error is the answer of the call, and none can be overlooked.
    return cudaLaunchKernel(reinterpret_cast<const void*>(feedline_spin_step), dim3(1), dim3(kThreads), arguments, 0,
                            stream);
}

}  // namespace feedline
