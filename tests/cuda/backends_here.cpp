// The devices of this build: the emulated one and, where it has CUDA, the GPU if there is one.
#include <gtest/gtest.h>

#include "tests/cuda/emulated_backend.h"

#ifdef FEEDLINE_HAVE_CUDA
#include "tests/cuda/cuda_backend.h"
#endif

namespace feedline::test {

const std::vector<Backend>& backends() {
    static const std::vector<Backend> all = [] {
        std::vector<Backend> found = {emulated_backend()};
#ifdef FEEDLINE_HAVE_CUDA
        if (cuda_device_count() > 0) found.push_back(cuda_backend("cuda"));
#endif
        return found;
    }();
    return all;
}

// So that the test log says whether a GPU was tested.
TEST(RealGpu, IsInTheBattery) {
    std::string reason;
    if (cuda_device_count(&reason) == 0) GTEST_SKIP() << "only the emulated accelerator is tested: " << reason;
    EXPECT_EQ(backends().back().kind, DeviceKind::cuda);
}

}  // namespace feedline::test
