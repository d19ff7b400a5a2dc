// Infinitely fast storage: every request completes at once, in full, and its destination stays as it is. What a run
// reaches with it is what everything but storage can do.
#include "loaders/engine/engines.h"
#include "loaders/engine/synchronous_engine.h"

namespace feedline {

namespace {

class NullEngine final : public Engine {
public:
    explicit NullEngine(const EngineOptions& options) : completions_(options.queue_depth) {}

    EngineKind kind() const override { return EngineKind::null; }
    unsigned max_queue_depth() const override { return static_cast<unsigned>(completions_.size()); }
    unsigned in_flight() const override { return waiting_; }

    std::size_t submit(std::span<const ReadRequest> requests) override {
        const auto accepted = std::min<std::size_t>(requests.size(), completions_.size() - waiting_);
        if (accepted == 0) return 0;
        const Nanoseconds now = now_ns();
        for (const ReadRequest& request : requests.first(accepted)) {
            completions_[waiting_++] = {.tag = request.tag,
                                        .result = static_cast<std::int64_t>(request.length_bytes),
                                        .grew = false,
                                        .issued_ns = now,
                                        .opened_ns = now,
                                        .completed_ns = now};
        }
        return accepted;
    }

    std::size_t reap(std::size_t /*min*/, std::span<Completion> out, Nanoseconds /*timeout_ns*/) override {
        const auto count = std::min<std::size_t>(out.size(), waiting_);
        std::copy_n(completions_.begin() + static_cast<std::ptrdiff_t>(waiting_ - count), count, out.begin());
        waiting_ -= static_cast<unsigned>(count);
        return count;
    }

    EngineCounters counters() const override { return {}; }

private:
    std::vector<Completion> completions_;
    unsigned waiting_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_null_engine(const EngineOptions& options) {
    return std::make_unique<NullEngine>(options);
}

}  // namespace feedline
