#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace feedline {

// Enqueues one block that reads the batch lightly (at most 4096 bytes of it, evenly spaced, added into *sum) and is
// over `spin_ns` after it began, by the GPU's nanosecond clock. All pointers are GPU memory.
cudaError_t launch_spin_kernel(cudaStream_t stream, const unsigned char* batch, std::uint64_t bytes,
                               std::uint64_t spin_ns, unsigned* sum);

}  // namespace feedline
