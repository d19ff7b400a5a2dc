// One way to ask a run to stop: Ctrl-C, SIGTERM, --duration, a failed stage.
//
// The flag is process-local and passed by reference; nothing is global but the signal handler's pointer to it.
// Thread-safe and async-signal-safe.
#pragma once

#include <atomic>

namespace feedline {

class Interrupt {
public:
    void request() { requested_.store(true, std::memory_order_relaxed); }
    bool requested() const { return requested_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> requested_{false};
};

// Routes SIGINT and SIGTERM to `interrupt` while it lives; one at a time. A second signal ends the process at once.
class SignalScope {
public:
    explicit SignalScope(Interrupt& interrupt);
    ~SignalScope();
    SignalScope(const SignalScope&) = delete;
    SignalScope& operator=(const SignalScope&) = delete;
};

}  // namespace feedline
