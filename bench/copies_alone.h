// The h2d control of an emulated accelerator, without waiting: batches that are always ready, run through the device
// code itself, whose timeline follows from them alone.
#pragma once

#include <cstdint>

#include "bench/timeline.h"
#include "cuda/device.h"

namespace feedline {

// One emulated device as `options` describe it, fed `steps` batches of `batch_bytes`, each ready as soon as one of
// options.slots host slots is free. Takes no time worth speaking of. Throws Error{usage} for options that no device
// takes.
IdleFigures copies_alone(const DeviceOptions& options, std::uint64_t batch_bytes, std::uint64_t steps,
                         std::uint64_t warmup_steps);

}  // namespace feedline
