#include "cuda/clock_map.h"

#include <algorithm>
#include <cmath>

namespace feedline {

void ClockMap::restart(double device_ns, Nanoseconds host_ns) {
    base_host_ns_ = host_ns;
    start_device_ns_ = device_ns;
    start_mapped_ns_ = 0;
    rate_ = 1;
}

void ClockMap::correct(double device_ns, Nanoseconds host_ns) {
    const double now = mapped(device_ns);
    const double error = static_cast<double>(host_ns - base_host_ns_) - now;
    start_device_ns_ = device_ns;
    start_mapped_ns_ = now;
    rate_ = 1 + std::clamp(error / kCorrectionSpanNs, -kLargestSlew, kLargestSlew);
}

Nanoseconds ClockMap::to_host(double device_ns) const {
    return base_host_ns_ + std::llround(mapped(device_ns));
}

double ClockMap::mapped(double device_ns) const {
    return start_mapped_ns_ + (device_ns - start_device_ns_) * rate_;
}

}  // namespace feedline
