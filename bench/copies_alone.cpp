#include "bench/copies_alone.h"

#include <vector>

#include "core/clock.h"

namespace feedline {
namespace {

// Nobody waits for the device here, so nothing may ask for the time; if something does, it jumps.
class JumpingClock final : public Clock {
public:
    Nanoseconds now() override { return now_; }
    void sleep_until(Nanoseconds deadline) override {
        if (deadline > now_) now_ = deadline;
    }

private:
    Nanoseconds now_ = 0;
};

}  // namespace

IdleFigures copies_alone(const DeviceOptions& options, std::uint64_t batch_bytes, std::uint64_t steps,
                         std::uint64_t warmup_steps) {
    JumpingClock clock;
    const std::unique_ptr<Device> device = make_emulated_device(options, clock);
    Timeline timeline(warmup_steps);
    timeline.begin(0);
    device->begin_epoch(batch_bytes);
    std::vector<StepTimes> times;
    times.reserve(steps);
    for (std::uint64_t i = 0; i < steps; ++i) {
        const Nanoseconds ready_ns = i < options.slots ? 0 : times[i - options.slots].copy_end_ns;
        device->enqueue(i, nullptr, batch_bytes, ready_ns);
        device->collect(times);
        timeline.add(times.back(), ready_ns, {});
    }
    return timeline.figures();
}

}  // namespace feedline
