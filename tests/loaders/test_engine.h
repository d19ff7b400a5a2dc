// An asynchronous engine for tests: really reads, completes in any order it likes, and lets the test change or hold
// back what comes of a request.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "loaders/engine/engine.h"
#include "loaders/loader.h"

namespace feedline::test {

class TestEngine final : public Engine {
public:
    // Sees each request and what reading it gave, and may change the completion. False: not complete yet, ask again.
    using Tamper = std::function<bool(const ReadRequest&, Completion&)>;

    TestEngine(const EngineOptions& options, std::uint64_t seed, Tamper tamper);

    EngineKind kind() const override { return EngineKind::uring; }
    unsigned max_queue_depth() const override { return options_.queue_depth; }
    unsigned in_flight() const override { return static_cast<unsigned>(requests_.size()); }
    std::size_t submit(std::span<const ReadRequest> requests) override;
    std::size_t reap(std::size_t min, std::span<Completion> out, Nanoseconds timeout_ns) override;
    EngineCounters counters() const override { return {}; }

private:
    EngineOptions options_;
    std::mt19937_64 random_;
    Tamper tamper_;
    std::vector<ReadRequest> requests_;
};

// Engines of kind pread are real ones also here: they are what the loader falls back to.
EngineFactory test_engines(TestEngine::Tamper tamper = {}, std::uint64_t seed = 1);

}  // namespace feedline::test
