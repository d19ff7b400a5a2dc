#include "loaders/engine/sigbus_guard.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "core/error.h"

namespace feedline {

namespace {

// Written by this thread and read by its own signal handler only.
struct Guard {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    bool faulted = false;
};

thread_local Guard guard;

// Set before the handler can run, never changed afterwards.
struct sigaction previous_action {};
std::uintptr_t page_bytes = 0;

void pass_on(int signal, siginfo_t* info, void* context) {
    if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
        previous_action.sa_sigaction(signal, info, context);
        return;
    }
    if (previous_action.sa_handler == SIG_IGN && info->si_code <= 0) return;
    if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
        previous_action.sa_handler(signal);
        return;
    }
    // The default: returning runs into the fault again, now without us. A signal that was sent does not come again by
    // itself.
    sigaction(SIGBUS, &previous_action, nullptr);
    if (info->si_code <= 0) raise(SIGBUS);
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
    const int saved_errno = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    // si_code > 0: raised by the kernel for a fault, so that si_addr means something.
    if (info->si_code > 0 && address >= guard.begin && address < guard.end) {
        guard.faulted = true;
        // The bare call: it is safe here, and no sanitizer intercepts it.
        const long mapped = syscall(SYS_mmap, address & ~(page_bytes - 1), page_bytes, PROT_READ,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (mapped >= 0 || mapped < -4095) {
            errno = saved_errno;
            return;
        }
    }
    pass_on(signal, info, context);
    errno = saved_errno;
}

}  // namespace

void install_sigbus_guard() {
    static std::once_flag installed;
    std::call_once(installed, [] {
        page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        if (sigaction(SIGBUS, nullptr, &previous_action) != 0) {
            throw Error(ErrorKind::unsupported, "cannot read the handler of SIGBUS").because(errno);
        }
        struct sigaction action {};
        action.sa_sigaction = on_sigbus;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGBUS, &action, nullptr) != 0) {
            throw Error(ErrorKind::unsupported, "cannot handle SIGBUS").because(errno);
        }
    });
}

bool guarded_copy(std::byte* destination, const std::byte* source, std::size_t bytes) {
    guard.faulted = false;
    guard.begin = reinterpret_cast<std::uintptr_t>(source);
    guard.end = guard.begin + bytes;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::memcpy(destination, source, bytes);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    guard.begin = 0;
    guard.end = 0;
    return !guard.faulted;
}

}  // namespace feedline
