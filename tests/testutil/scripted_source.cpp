#include "tests/testutil/scripted_source.h"

#include "core/error.h"

namespace feedline::test {

const Batch* ScriptedSource::next() {
    const std::uint64_t index = next_;
    if (options_.on_next) options_.on_next(index);
    if (options_.fail_at == index) throw Error(ErrorKind::io, "scripted failure").at("/script", index);
    {
        std::unique_lock lock(mutex_);
        if (handed_out_.empty()) handed_out_.resize(batches_.size());  // so that pointers into it stay valid
        changed_.wait(lock, [&] {
            if (stopped_) return true;
            if (options_.block_at == index) return false;
            return options_.slots == 0 || index - released_.size() < options_.slots;
        });
        if (stopped_ || index == batches_.size()) return nullptr;
    }
    const ScriptedBatch& script = batches_[index];
    if (options_.clock != nullptr) options_.clock->sleep_until(script.ready_ns);
    ++next_;
    Batch& batch = handed_out_[index];
    batch.index = index;
    batch.bytes = script.bytes;
    batch.payload_bytes = script.payload_bytes;
    batch.samples = script.samples;
    batch.trace = script.trace;
    batch.failures = script.failures;
    batch.slot_ns = script.slot_ns;
    batch.first_issue_ns = script.trace.empty() ? 0 : script.trace.front().issued_ns;
    batch.ready_ns = script.ready_ns;
    return &batch;
}

void ScriptedSource::release(std::uint64_t index) {
    {
        std::lock_guard lock(mutex_);
        released_.push_back(index);
        // A loader refills what was released: who still looks at it sees other bytes.
        for (RequestTrace& request : batches_[index].trace) request = {-1, -1, -1, -1, 1};
        for (SampleView& sample : batches_[index].samples) sample.id = ~SampleId{0};
    }
    changed_.notify_all();
}

void ScriptedSource::release_at(std::uint64_t index, Nanoseconds at_ns) {
    {
        std::lock_guard lock(mutex_);
        released_at_.push_back(at_ns);
    }
    release(index);
}

void ScriptedSource::stop() {
    {
        std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
}

std::vector<std::uint64_t> ScriptedSource::released() const {
    std::lock_guard lock(mutex_);
    return released_;
}

std::vector<Nanoseconds> ScriptedSource::released_at() const {
    std::lock_guard lock(mutex_);
    return released_at_;
}

bool ScriptedSource::stopped() const {
    std::lock_guard lock(mutex_);
    return stopped_;
}

std::vector<SampleView> samples_from(SampleId first, std::uint64_t count) {
    std::vector<SampleView> samples(count);
    for (std::uint64_t i = 0; i < count; ++i) samples[i].id = first + i;
    return samples;
}

}  // namespace feedline::test
