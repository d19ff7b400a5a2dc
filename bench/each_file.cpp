#include "bench/each_file.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/fd.h"

namespace feedline {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{100};
constexpr std::uint64_t kFilesAtATime = 32;  // taken by a thread, so that threads seldom meet

}  // namespace

std::uint64_t for_each_file(const Dataset& dataset, std::span<const ShardId> shards, unsigned threads,
                            const CacheProgressFn& progress, const Interrupt& interrupt, const FileVisit& visit) {
    const std::uint64_t total = shards.empty() ? dataset.info().shards : shards.size();
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());

    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> unopened{0};
    std::atomic<bool> ending{false};
    std::mutex mutex;
    std::condition_variable changed;
    unsigned running = 0;
    std::exception_ptr error;

    const std::function<bool()> stop = [&] { return ending.load() || interrupt.requested(); };
    const auto visit_one = [&](ShardId shard, std::string& scratch) {
        const Source source = dataset.source(shard, scratch);
        if (source.fd >= 0) {
            visit(source.fd, stop);
            return;
        }
        // Should a file have become a FIFO since it was indexed, the open must not wait for its writer.
        const Fd fd(::openat(source.dir_fd, source.name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (fd)
            visit(fd.get(), stop);
        else
            ++unopened;
    };
    const auto work = [&] {
        try {
            std::string scratch;
            for (;;) {
                const std::uint64_t first = next.fetch_add(kFilesAtATime);
                const std::uint64_t last = std::min(first + kFilesAtATime, total);
                if (first >= total || stop()) break;
                for (std::uint64_t i = first; i < last && !stop(); ++i) {
                    visit_one(shards.empty() ? static_cast<ShardId>(i) : shards[i], scratch);
                    ++done;
                }
            }
        } catch (...) {
            ending = true;
            std::lock_guard lock(mutex);
            if (!error) error = std::current_exception();
        }
        std::lock_guard lock(mutex);
        --running;
        changed.notify_all();
    };

    {
        std::vector<std::jthread> workers;
        try {
            for (unsigned i = 0; i < threads; ++i) {
                {
                    std::lock_guard lock(mutex);
                    ++running;
                }
                workers.emplace_back(work);
            }
            std::unique_lock lock(mutex);
            while (!changed.wait_for(lock, kProgressInterval, [&] { return running == 0; })) {
                if (!progress) continue;
                lock.unlock();
                progress({done, total});
                lock.lock();
            }
        } catch (...) {
            ending = true;
            std::lock_guard lock(mutex);
            if (!error) error = std::current_exception();
        }
    }
    if (error) std::rethrow_exception(error);
    if (interrupt.requested()) throw Error(ErrorKind::interrupted, "interrupted");
    if (progress) progress({total, total});
    return unopened;
}

}  // namespace feedline
