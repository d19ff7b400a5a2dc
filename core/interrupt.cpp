#include "core/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace feedline {
namespace {

// A signal handler can only reach what is static; SignalScope owns the meaning of it.
std::atomic<Interrupt*> g_interrupt{nullptr};
std::atomic<Nanoseconds> g_first_ns{0};  // when the first signal came
static_assert(std::atomic<Interrupt*>::is_always_lock_free && std::atomic<Nanoseconds>::is_always_lock_free);

struct sigaction g_previous_int;
struct sigaction g_previous_term;

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
    sigaction(SIGINT, &action, &g_previous_int);
    sigaction(SIGTERM, &action, &g_previous_term);
}

SignalScope::~SignalScope() {
    sigaction(SIGINT, &g_previous_int, nullptr);
    sigaction(SIGTERM, &g_previous_term, nullptr);
    g_interrupt = nullptr;
}

}  // namespace feedline
