// Batches that are always ready: what is left is the copy to the device, and the step.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "loaders/batch.h"

namespace feedline {

// Ends only by stop(). Thread-safe as BatchSource asks for.
class ReadyBatches final : public BatchSource {
public:
    // Every batch is [data, data + bytes). At most `slots` are handed out and not released.
    ReadyBatches(const std::byte* data, std::uint64_t bytes, unsigned slots) : batches_(slots + 1) {
        for (Batch& batch : batches_) {
            batch.data = data;
            batch.bytes = bytes;
            batch.payload_bytes = bytes;
        }
    }

    const Batch* next() override {
        std::unique_lock lock(mutex_);
        released_.wait(lock, [&] { return stopped_ || next_ - free_before_ < batches_.size() - 1; });
        if (stopped_) return nullptr;
        Batch& batch = batches_[next_ % batches_.size()];
        const Nanoseconds now = now_ns();
        if (first_issue_ns_ == 0) first_issue_ns_ = now;
        batch.index = next_++;
        batch.slot_ns = batch.first_issue_ns = batch.ready_ns = now;
        return &batch;
    }

    void release(std::uint64_t index) override {
        const std::lock_guard lock(mutex_);
        free_before_ = index + 1;
        released_.notify_all();
    }

    void stop() override {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        released_.notify_all();
    }

    Nanoseconds first_issue_ns() const override {
        const std::lock_guard lock(mutex_);
        return first_issue_ns_;
    }

    std::optional<Nanoseconds> slot_since_ns(std::uint64_t /*index*/) const override { return first_issue_ns(); }

private:
    mutable std::mutex mutex_;
    std::condition_variable released_;
    std::vector<Batch> batches_;
    std::uint64_t next_ = 0;
    std::uint64_t free_before_ = 0;
    Nanoseconds first_issue_ns_ = 0;
    bool stopped_ = false;
};

}  // namespace feedline
