#include "cuda/check_options.h"

#include "core/error.h"

namespace feedline {

void check_device_options(const DeviceOptions& options) {
    if (options.slots == 0) throw Error(ErrorKind::usage, "a device needs at least one slot");
    if (options.ordinal < 0) throw Error(ErrorKind::usage, "the number of a device is negative");
    if (options.step_ns < 0) throw Error(ErrorKind::usage, "the step time is negative");
    if (options.h2d_latency_ns < 0) throw Error(ErrorKind::usage, "the latency of copies is negative");
    if (!(options.h2d_bytes_per_second > 0)) throw Error(ErrorKind::usage, "the rate of copies is not above zero");
}

}  // namespace feedline
