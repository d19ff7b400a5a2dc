#include "core/interrupt.h"

#include <unistd.h>

#include <array>
#include <csignal>

namespace feedline {
namespace {

// A signal handler can only reach what is static; SignalScope owns the meaning of it.
std::atomic<Interrupt*> g_interrupt{nullptr};
std::atomic<Nanoseconds> g_first_ns{0};  // when the first signal came
static_assert(std::atomic<Interrupt*>::is_always_lock_free && std::atomic<Nanoseconds>::is_always_lock_free);

// An interrupt, an end that was asked for, a terminal that is gone.
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kSignals.size()> g_previous;

void on_signal(int /*number*/) {
    Interrupt* interrupt = g_interrupt.load();
    if (interrupt == nullptr) return;
    const Nanoseconds now = now_ns();  // clock_gettime is async-signal-safe
    Nanoseconds first = 0;
    if (!g_first_ns.compare_exchange_strong(first, now) && SignalScope::ends_at_once(first, now)) ::_exit(130);
    interrupt->request();
}

}  // namespace

SignalScope::SignalScope(Interrupt& interrupt) {
    g_first_ns = 0;
    g_interrupt = &interrupt;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        sigaction(kSignals[i], &action, &g_previous[i]);
        // nohup(1) has it ignored, and means it.
        const bool ignored = (g_previous[i].sa_flags & SA_SIGINFO) == 0 && g_previous[i].sa_handler == SIG_IGN;
        if (ignored && kSignals[i] == SIGHUP) sigaction(SIGHUP, &g_previous[i], nullptr);
    }
}

SignalScope::~SignalScope() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_previous[i], nullptr);
    g_interrupt = nullptr;
}

}  // namespace feedline
