// What no device can do, whichever it is.
#pragma once

#include "cuda/device.h"

namespace feedline {

// Throws Error{usage} for no slots, and for times or rates that are negative or not numbers.
void check_device_options(const DeviceOptions& options);

}  // namespace feedline
