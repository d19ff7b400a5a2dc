#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace feedline {

// Enqueues one block that reads the batch lightly (at most 4096 bytes of it, evenly spaced, added into *sum) and is
// over `spin_ns` after it began, by the GPU's nanosecond clock, or within about a millisecond of *stop becoming other
// than 0. `stop` is mapped host memory, or null: not stopped. The other pointers are GPU memory.
cudaError_t launch_spin_kernel(cudaStream_t stream, const unsigned char* batch, std::uint64_t bytes,
                               std::uint64_t spin_ns, const unsigned* stop, unsigned* sum);

}  // namespace feedline
