// The step kernel, played on the CPU for tests/fake_cudart.
#pragma once

#include <cstdint>
#include <functional>

#include "core/clock.h"
#include "tests/fake_cudart/fake_cudart.h"

namespace feedline::test {

// What a kernel's length differs from what it was asked for, as a real launch does; calibration must find it.
inline constexpr Nanoseconds kFakeLaunchOverhead = 3'000;

// A fresh machine that knows the step kernel. `on_step`, if any, sees each step's batch in GPU memory when the step
// takes effect, whole or stopped.
void start_fake_gpu(const fake_cudart::Machine& machine = {},
                    std::function<void(const std::byte* batch, std::uint64_t bytes)> on_step = {});

// Violations, and leaks if there are any.
std::vector<std::string> fake_gpu_complaints();

}  // namespace feedline::test
