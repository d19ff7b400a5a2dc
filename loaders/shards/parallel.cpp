#include "loaders/shards/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace feedline {

void for_each_index(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::exception_ptr first;
    const auto run = [&] {
        while (!failed.load(std::memory_order_relaxed)) {
            const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
            if (index >= count) return;
            try {
                work(index);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!failed.exchange(true)) first = std::current_exception();
            }
        }
    };
    {
        std::vector<std::jthread> helpers;
        const std::size_t wanted = std::min<std::size_t>(std::max(threads, 1U), count);
        for (std::size_t i = 1; i < wanted; ++i) {
            try {
                helpers.emplace_back(run);
            } catch (const std::system_error&) {
                break;  // no more threads to be had: fewer do it
            }
        }
        run();
    }
    if (first) std::rethrow_exception(first);
}

}  // namespace feedline
