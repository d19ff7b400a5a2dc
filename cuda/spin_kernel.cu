#include "cuda/spin_kernel.h"

namespace feedline {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned long long kSamples = 4096;

// Looking at the host's memory takes a microsecond or two, and more behind a copy. So seldom, and never near the end,
// it costs nothing and makes no step longer.
constexpr unsigned long long kLookIntervalNs = 1'000'000;
constexpr unsigned long long kLastLookBeforeEndNs = 100'000;

// The clock of the events, too; clock64() would count cycles, whose length changes with the load.
__device__ unsigned long long nanosecond_clock() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void feedline_spin_step(const unsigned char* batch, unsigned long long bytes, unsigned long long spin_ns,
                                   const volatile unsigned* stop, unsigned* sum) {
    const unsigned long long begin = nanosecond_clock();
    const unsigned long long stride = bytes / kSamples + 1;
    unsigned own = 0;
    for (unsigned long long at = threadIdx.x * stride; at < bytes; at += kThreads * stride) own += batch[at];
    atomicAdd(sum, own);
    if (threadIdx.x != 0) return;
    unsigned long long spun_ns = 0;
    unsigned long long next_look_ns = 0;
    while ((spun_ns = nanosecond_clock() - begin) < spin_ns) {
        if (stop == nullptr || spun_ns < next_look_ns || spin_ns - spun_ns < kLastLookBeforeEndNs) continue;
        if (*stop != 0) return;
        next_look_ns = spun_ns + kLookIntervalNs;
    }
}

}  // namespace

cudaError_t launch_spin_kernel(cudaStream_t stream, const unsigned char* batch, std::uint64_t bytes,
                               std::uint64_t spin_ns, const unsigned* stop, unsigned* sum) {
    unsigned long long size = bytes;
    unsigned long long length = spin_ns;
    void* arguments[] = {&batch, &size, &length, &stop, &sum};
    // Not <<<>>>: this way the error is the answer of the call, and none can be overlooked.
    return cudaLaunchKernel(reinterpret_cast<const void*>(feedline_spin_step), dim3(1), dim3(kThreads), arguments, 0,
                            stream);
}

}  // namespace feedline
