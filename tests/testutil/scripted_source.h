// A loader that follows a script: batch i was ready at a given time, whatever the clock says, so that what the pipeline
// makes of it is known exactly.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "loaders/batch.h"

namespace feedline::test {

struct ScriptedBatch {
    Nanoseconds slot_ns = 0;
    Nanoseconds ready_ns = 0;
    std::uint64_t bytes = 0;          // what a copy moves
    std::uint64_t payload_bytes = 0;  // of it
    std::vector<SampleView> samples;
    std::vector<RequestTrace> trace;
    std::vector<Oddity> failures{};
};

struct ScriptedSourceOptions {
    Nanoseconds first_issue_ns = 0;
    unsigned slots = 0;                            // next() waits while so many batches are not released; 0: no limit
    Clock* clock = nullptr;                        // next() returns at ready_ns of this clock; null: at once
    std::optional<std::uint64_t> fail_at{};        // next() throws Error{io} instead of this batch
    std::optional<std::uint64_t> block_at{};       // next() hangs there until stop()
    bool waits_for_slots = false;                  // release_at() is noted, and the slot free at once
    std::function<void(std::uint64_t)> on_next{};  // called on the thread in next(), before it waits for anything
};

// Thread-safe as BatchSource asks for.
class ScriptedSource final : public BatchSource {
public:
    ScriptedSource(std::vector<ScriptedBatch> batches, ScriptedSourceOptions options)
        : batches_(std::move(batches)), options_(std::move(options)) {}

    const Batch* next() override;
    void release(std::uint64_t index) override;
    bool waits_for_slots() const override { return options_.waits_for_slots; }
    void release_at(std::uint64_t index, Nanoseconds at_ns) override;
    void stop() override;
    Nanoseconds first_issue_ns() const override { return options_.first_issue_ns; }
    std::optional<Nanoseconds> slot_since_ns(std::uint64_t index) const override {
        if (index >= batches_.size()) return std::nullopt;
        return batches_[index].slot_ns;
    }

    std::vector<std::uint64_t> released() const;   // in the order of the calls
    std::vector<Nanoseconds> released_at() const;  // what was told ahead, in the order of the calls
    bool stopped() const;

private:
    std::vector<ScriptedBatch> batches_;
    ScriptedSourceOptions options_;
    std::vector<Batch> handed_out_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t next_ = 0;
    std::vector<std::uint64_t> released_;
    std::vector<Nanoseconds> released_at_;
    bool stopped_ = false;
};

// `count` samples with the ids first, first + 1, ...
std::vector<SampleView> samples_from(SampleId first, std::uint64_t count);

}  // namespace feedline::test
