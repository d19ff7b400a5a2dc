#include "tests/testutil/manual_clock.h"

namespace feedline::test {

void ManualClock::sleep_until(Nanoseconds deadline) {
    ++sleeps_;
    if (now() < deadline) advance_to(deadline + oversleep_);
}

void ManualClock::advance_to(Nanoseconds time) {
    Nanoseconds current = now_.load();
    while (current < time && !now_.compare_exchange_weak(current, time)) {
    }
}

}  // namespace feedline::test
