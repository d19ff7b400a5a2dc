#include "tests/cuda/emulated_backend.h"

#include "tests/testutil/manual_clock.h"

namespace feedline::test {

Backend emulated_backend() {
    const auto clock = std::make_shared<ManualClock>(kNanosecondsPerSecond);
    Backend backend;
    backend.name = "emulated";
    backend.prepare = [] {};
    backend.make = [clock](const DeviceOptions& options) { return make_emulated_device(options, *clock); };
    backend.now = [clock] { return clock->now(); };
    backend.complaints = [] { return std::vector<std::string>(); };
    return backend;
}

}  // namespace feedline::test
