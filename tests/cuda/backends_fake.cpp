// The CUDA device on the stand-in for its runtime.
#include "tests/cuda/cuda_backend.h"
#include "tests/cuda/fake_gpu.h"

namespace feedline::test {
namespace {

Backend stand_in() {
    Backend backend = cuda_backend("cuda_on_stand_in");
    backend.prepare = [] { start_fake_gpu(); };
    backend.complaints = fake_gpu_complaints;
    backend.resolution_ns = 3'000;
    return backend;
}

}  // namespace

const std::vector<Backend>& backends() {
    static const std::vector<Backend> all = {stand_in()};
    return all;
}

}  // namespace feedline::test
