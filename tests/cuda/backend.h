// The devices that the conformance battery runs over. Each program links one file that says which it has.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/device.h"

namespace feedline::test {

struct Backend {
    std::string name;
    DeviceKind kind = DeviceKind::emulated;
    std::function<void()> prepare;  // starts afresh
    std::function<std::unique_ptr<Device>(const DeviceOptions&)> make;
    std::function<Nanoseconds()> now;  // the clock of StepTimes
    // The copy of batch number `count` that is still in its device buffer; empty where a device keeps no data.
    std::function<std::vector<std::byte>(Device&, Slab&, std::uint64_t count, unsigned slots, std::uint64_t bytes)>
        read_back;
    // What the runtime noticed, leaks included; called when every device is gone.
    std::function<std::vector<std::string>()> complaints;
    // By how much a step or a distance of two events may come out shorter than it is.
    Nanoseconds resolution_ns = 0;
    // By how much the device's times may lie off the host's clock.
    Nanoseconds offset_ns = 0;
};

const std::vector<Backend>& backends();

}  // namespace feedline::test
