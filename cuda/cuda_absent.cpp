// What takes the place of the CUDA device in a build without CUDA.
#include "core/error.h"
#include "cuda/device.h"

namespace feedline {
namespace {

constexpr const char* kReason = "this build has no CUDA";

}  // namespace

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& /*options*/) {
    throw Error(ErrorKind::unsupported, kReason)
        .advise("use the emulated device, or build where CMake finds a CUDA toolkit");
}

unsigned cuda_device_count(std::string* reason) {
    if (reason != nullptr) *reason = kReason;
    return 0;
}

}  // namespace feedline
