#include "bench/host_stall.h"

#include <algorithm>
#include <ctime>

namespace feedline {

void HostStalls::slept(Nanoseconds due_ns, Nanoseconds woke_ns, Nanoseconds cpu_ns) {
    // What was used before the sleep was due counts against the gap, too: a gap is never made too long.
    if (woke_ns - due_ns - cpu_ns >= kLeastNs) gaps_.push_back({due_ns, woke_ns, cpu_ns});
}

Nanoseconds HostStalls::between(Nanoseconds from_ns, Nanoseconds to_ns) const {
    Nanoseconds sum = 0;
    for (const Gap& gap : gaps_) {
        const Nanoseconds inside_ns = std::min(gap.to_ns, to_ns) - std::max(gap.from_ns, from_ns);
        sum += std::max<Nanoseconds>(0, inside_ns - gap.ran_ns);
    }
    return sum;
}

Nanoseconds process_cpu_ns() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * kNanosecondsPerSecond + used.tv_nsec;
}

}  // namespace feedline
