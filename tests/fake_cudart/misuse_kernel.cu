#include "tests/fake_cudart/misuse_kernel.h"

namespace feedline::test {
namespace {

__global__ void touch_kernel(unsigned char* data, unsigned long long bytes) {
    for (unsigned long long k = 0; k < bytes; ++k) data[k] = static_cast<unsigned char>(data[k] + 1);
}

}  // namespace

void launch_touch(cudaStream_t stream, unsigned char* data, unsigned long long bytes) {
    touch_kernel<<<1, 1, 0, stream>>>(data, bytes);
}

}  // namespace feedline::test
