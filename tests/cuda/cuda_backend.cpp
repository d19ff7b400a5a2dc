#include "tests/cuda/cuda_backend.h"

#include <algorithm>

#include "cuda/cuda_device.h"

namespace feedline::test {

Backend cuda_backend(std::string name) {
    Backend backend;
    backend.name = std::move(name);
    backend.kind = DeviceKind::cuda;
    backend.prepare = [] {};
    backend.make = make_cuda_device;
    backend.now = now_ns;
    backend.read_back = [](Device& device, Slab& pinned, std::uint64_t count, unsigned slots, std::uint64_t bytes) {
        std::fill_n(pinned.data(), bytes, std::byte{0});
        dynamic_cast<CudaDevice&>(device).read_back(static_cast<unsigned>(count % slots), pinned.data(), bytes);
        return std::vector<std::byte>(pinned.data(), pinned.data() + bytes);
    };
    backend.complaints = [] { return std::vector<std::string>(); };
    backend.resolution_ns = 5'000;
    backend.offset_ns = 1'000'000;  // half an anchor's width; wide only if the host was held up at every try
    return backend;
}

}  // namespace feedline::test
