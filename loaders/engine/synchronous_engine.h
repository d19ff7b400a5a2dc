// What the engines that work inside reap() share: a queue of accepted requests, served first in, first out.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "loaders/engine/engine.h"
#include "loaders/engine/file_opener.h"

namespace feedline {

class SynchronousEngine : public Engine {
public:
    explicit SynchronousEngine(const EngineOptions& options)
        : faults_(options.faults), opener_(options.faults), queue_(options.queue_depth) {}

    unsigned max_queue_depth() const final { return static_cast<unsigned>(queue_.size()); }
    unsigned in_flight() const final { return queued_; }

    std::size_t submit(std::span<const ReadRequest> requests) final {
        const auto accepted = std::min<std::size_t>(requests.size(), queue_.size() - queued_);
        for (const ReadRequest& request : requests.first(accepted)) {
            if (faults_ != nullptr && !faults_->on_submit()) {
                ++counters_.retries;
                return static_cast<std::size_t>(&request - requests.data());
            }
            queue_[(head_ + queued_) % queue_.size()] = request;
            ++queued_;
        }
        return accepted;
    }

    std::size_t reap(std::size_t min, std::span<Completion> out, Nanoseconds /*timeout_ns*/) final {
        // No more than asked for: the caller can hand on what is complete while the rest is still to be read.
        const std::size_t count = std::min({std::max<std::size_t>(min, 1), out.size(), std::size_t{queued_}});
        for (std::size_t i = 0; i < count; ++i) {
            out[i] = serve(queue_[head_]);
            head_ = (head_ + 1) % queue_.size();
            --queued_;
        }
        return count;
    }

    EngineCounters counters() const final { return counters_; }

protected:
    // Reads from `fd` and fills in result and grew.
    virtual void read(int fd, const ReadRequest& request, Completion& completion) = 0;

    FaultHook* faults() const { return faults_; }
    EngineCounters& counts() { return counters_; }

private:
    // Opens where there is only a name, reads, and closes what was opened.
    Completion serve(const ReadRequest& request) {
        Completion completion;
        completion.tag = request.tag;
        completion.issued_ns = now_ns();
        completion.opened_ns = completion.issued_ns;

        int fd = request.source.fd;
        const bool opened = fd < 0;
        if (opened) {
            fd = opener_.open(request.source, request.tag, counters_);
            completion.opened_ns = now_ns();
            if (fd < 0) {
                completion.result = fd;
                completion.completed_ns = completion.opened_ns;
                return completion;
            }
        }
        read(fd, request, completion);
        completion.completed_ns = now_ns();
        if (opened) {
            ++counters_.syscalls;
            ::close(fd);
        }
        return completion;
    }

    FaultHook* faults_;
    FileOpener opener_;
    std::vector<ReadRequest> queue_;
    std::size_t head_ = 0;
    unsigned queued_ = 0;
    EngineCounters counters_;
};

}  // namespace feedline
