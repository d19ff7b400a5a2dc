// Waiting for work that storage may hold up for ever: a mount that hangs cannot keep Ctrl-C from working.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/units.h"

namespace feedline {

// Runs `work()` on a thread of its own and returns what it returns, or rethrows what it throws. Once `interrupt` is
// requested it throws Error{interrupted} within 50 ms and leaves the thread behind, so what `work` uses must be owned
// by it (captured by value or shared). `tick` is called on the caller's thread every 50 ms meanwhile; may be empty.
// After `patience_ns`, 0 for no end of it, the same happens with Error{timeout}.
template <typename Work>
auto run_interruptibly(Work work, const Interrupt& interrupt, const std::function<void()>& tick = {},
                       Nanoseconds patience_ns = 0) {
    using Value = std::invoke_result_t<Work>;
    static_assert(!std::is_void_v<Value>, "let it return something, if only true");
    struct Shared {
        std::mutex mutex;
        std::condition_variable done;
        std::optional<Value> value;
        std::exception_ptr failure;
    };
    const auto shared = std::make_shared<Shared>();
    std::thread thread([shared, work = std::move(work)]() mutable {
        std::optional<Value> value;
        std::exception_ptr failure;
        try {
            value.emplace(work());
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard lock(shared->mutex);
        shared->value = std::move(value);
        shared->failure = failure;
        shared->done.notify_all();
    });
    const Nanoseconds begun_ns = now_ns();
    std::unique_lock lock(shared->mutex);
    const auto over = [&] { return shared->value.has_value() || shared->failure; };
    while (!shared->done.wait_for(lock, std::chrono::milliseconds(50), over)) {
        if (interrupt.requested()) {
            thread.detach();
            throw Error(ErrorKind::interrupted, "interrupted");
        }
        if (patience_ns > 0 && now_ns() - begun_ns > patience_ns) {
            thread.detach();
            throw Error(ErrorKind::timeout, "the storage has not answered for " + format_time(patience_ns));
        }
        if (tick) {
            lock.unlock();
            tick();
            lock.lock();
        }
    }
    lock.unlock();
    thread.join();
    if (shared->failure) std::rethrow_exception(shared->failure);
    return std::move(*shared->value);
}

}  // namespace feedline
