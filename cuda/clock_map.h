// From the device's clock to the host's CLOCK_MONOTONIC. Arithmetic only.
//
// The two clocks tick at slightly different rates (parts per million), which over a long epoch adds up to more than a
// copy takes. The map is therefore a line that is steered: a pair of readings taken now and then ("anchor") bends its
// slope so that the error would be gone one kCorrectionSpan later. Bending instead of stepping keeps the mapped time
// continuous, so no step grows or shrinks by a correction; a constant drift d leaves an error of d * kCorrectionSpan
// (10 us at 10 ppm).
//
// Not thread-safe.
#pragma once

#include "core/clock.h"

namespace feedline {

class ClockMap {
public:
    static constexpr double kCorrectionSpanNs = 1e9;
    static constexpr double kLargestSlew = 1e-3;  // of the rate; a reading that asks for more is spread over longer

    // Forgets everything: device time `device_ns` was host time `host_ns`.
    void restart(double device_ns, Nanoseconds host_ns);

    // The same of a later moment; readings come in increasing order of device_ns.
    void correct(double device_ns, Nanoseconds host_ns);

    Nanoseconds to_host(double device_ns) const;

private:
    double mapped(double device_ns) const;  // relative to base_host_ns_

    Nanoseconds base_host_ns_ = 0;
    double start_device_ns_ = 0;
    double start_mapped_ns_ = 0;
    double rate_ = 1;
};

}  // namespace feedline
