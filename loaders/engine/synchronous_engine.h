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
    explicit SynchronousEngine(const EngineOptions& options) : faults_(options.faults), queue_(options.queue_depth) {}

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
            out[i].tag = queue_[head_].tag;
            out[i].grew = false;
            out[i].issued_ns = out[i].opened_ns = now_ns();
            serve(queue_[head_], out[i]);
            out[i].completed_ns = now_ns();
            head_ = (head_ + 1) % queue_.size();
            --queued_;
        }
        return count;
    }

    EngineCounters counters() const final { return counters_; }

protected:
    // Fills in the result of `request` and, where that is not at once, when its file was open.
    virtual void serve(const ReadRequest& request, Completion& completion) = 0;

    FaultHook* faults() const { return faults_; }
    EngineCounters& counts() { return counters_; }

private:
    FaultHook* faults_;
    std::vector<ReadRequest> queue_;
    std::size_t head_ = 0;
    unsigned queued_ = 0;
    EngineCounters counters_;
};

// One that opens where there is only a name, reads, and closes what it opened.
class OpeningEngine : public SynchronousEngine {
public:
    explicit OpeningEngine(const EngineOptions& options) : SynchronousEngine(options), opener_(options.faults) {}

protected:
    // Reads from `fd` and fills in result and grew.
    virtual void read(int fd, const ReadRequest& request, Completion& completion) = 0;

    void serve(const ReadRequest& request, Completion& completion) final {
        if (request.source.fd >= 0) {
            read(request.source.fd, request, completion);
            return;
        }
        const int fd = opener_.open(request.source, request.tag, counts());
        completion.opened_ns = now_ns();
        if (fd < 0) {
            completion.result = fd;
            return;
        }
        read(fd, request, completion);
        ++counts().syscalls;
        ::close(fd);
    }

private:
    FileOpener opener_;
};

}  // namespace feedline
