// One way to ask a run to stop: Ctrl-C, SIGTERM, --duration, a failed stage.
//
// The flag is process-local and passed by reference; nothing is global but the signal handler's pointer to it.
// Thread-safe and async-signal-safe.
#pragma once

#include <atomic>

#include "core/clock.h"

namespace feedline {

class Interrupt {
public:
    void request() { requested_.store(true, std::memory_order_relaxed); }
    bool requested() const { return requested_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> requested_{false};
};

// How long a run has, after it was asked to stop, to write what it has: about ten times what it takes.
inline constexpr Nanoseconds kTimeToStop = 5 * kNanosecondsPerSecond;

// Routes SIGINT and SIGTERM to `interrupt` while it lives; one at a time. A signal that comes more than kTimeToStop
// after the first ends the process at once: then the program hangs. An earlier one changes nothing, so that an
// impatient second Ctrl-C does not cost the result.
class SignalScope {
public:
    // What a signal at `now` means when the first came at `first`, 0 for none. For tests.
    static bool ends_at_once(Nanoseconds first, Nanoseconds now) { return first > 0 && now - first > kTimeToStop; }

    explicit SignalScope(Interrupt& interrupt);
    ~SignalScope();
    SignalScope(const SignalScope&) = delete;
    SignalScope& operator=(const SignalScope&) = delete;
};

}  // namespace feedline
