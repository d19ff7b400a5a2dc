#include "core/clock.h"

#include <cerrno>
#include <ctime>

namespace feedline {

Nanoseconds now_ns() {
    timespec ts{};
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * kNanosecondsPerSecond + ts.tv_nsec;
}

void MonotonicClock::sleep_until(Nanoseconds deadline) {
    timespec ts{};
    ts.tv_sec = deadline / kNanosecondsPerSecond;
    ts.tv_nsec = deadline % kNanosecondsPerSecond;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr) == EINTR) {
    }
}

}  // namespace feedline
