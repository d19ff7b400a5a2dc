#pragma once

#include <cuda_runtime_api.h>

namespace feedline::test {

// A kernel launched as most code does, by <<<>>>, which drops the error of the launch.
void launch_touch(cudaStream_t stream, unsigned char* data, unsigned long long bytes);

// A kernel that ends when *stop is not 0. Returns the error of the launch.
cudaError_t launch_poll(cudaStream_t stream, const unsigned* stop);

}  // namespace feedline::test
