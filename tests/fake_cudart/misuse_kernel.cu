#include "tests/fake_cudart/misuse_kernel.h"

namespace feedline::test {
namespace {

__global__ void touch_kernel(unsigned char* data, unsigned long long bytes) {
    for (unsigned long long k = 0; k < bytes; ++k) data[k] = static_cast<unsigned char>(data[k] + 1);
}

__global__ void poll_kernel(const volatile unsigned* stop) {
    while (*stop == 0) {
    }
}

}  // namespace

cudaError_t launch_poll(cudaStream_t stream, const unsigned* stop) {
    void* arguments[] = {&stop};
    return cudaLaunchKernel(reinterpret_cast<const void*>(poll_kernel), dim3(1), dim3(1), arguments, 0, stream);
}

void launch_touch(cudaStream_t stream, unsigned char* data, unsigned long long bytes) {
    touch_kernel<<<1, 1, 0, stream>>>(data, bytes);
}

}  // namespace feedline::test
