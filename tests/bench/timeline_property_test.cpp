// Random schedules: what must hold for any of them, and equality with an integration that shares no code with the
// implementation.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "bench/timeline.h"

namespace feedline {
namespace {

IdleFigures combine_all(const std::vector<Timeline>& devices) {
    std::vector<const Timeline*> pointers;
    pointers.reserve(devices.size());
    for (const Timeline& device : devices) pointers.push_back(&device);
    return combine(pointers);
}

struct ScheduledBatch {
    StepTimes step;
    Nanoseconds slot_ns = 0;
    std::vector<RequestTrace> trace;
};

class RandomSchedule {
public:
    explicit RandomSchedule(unsigned seed) : random_(seed) {}

    std::vector<ScheduledBatch> make() {
        // Short times make ties likely; the scale decides which stage is the bottleneck.
        const Nanoseconds read_scale = between(0, 60);
        const Nanoseconds step_scale = between(0, 60);
        const Nanoseconds copy_scale = between(0, 30);
        const auto slots = static_cast<std::size_t>(between(1, 4));
        std::vector<ScheduledBatch> batches(static_cast<std::size_t>(between(1, 12)));
        Nanoseconds cursor = 0;
        for (std::size_t i = 0; i < batches.size(); ++i) {
            ScheduledBatch& batch = batches[i];
            batch.slot_ns =
                (i < slots ? 0 : batches[i - slots].step.copy_end_ns) + (coin() ? 0 : between(0, read_scale));
            cursor = std::max(cursor, batch.slot_ns);
            Nanoseconds last = batch.slot_ns;
            batch.trace.resize(static_cast<std::size_t>(between(0, 8)));
            for (RequestTrace& request : batch.trace) {
                request.issued_ns = cursor + between(0, read_scale);
                request.opened_ns = request.issued_ns + (coin() ? 0 : between(0, read_scale));
                request.read_ns = request.opened_ns + (coin() ? 0 : between(0, read_scale));
                request.decoded_ns = request.read_ns + (coin() ? 0 : between(0, read_scale));
                request.samples = static_cast<std::uint32_t>(between(1, 5));
                last = std::max(last, request.decoded_ns);
            }
            StepTimes& step = batch.step;
            step.index = i;
            step.ready_ns = last + (coin() ? 0 : between(0, 10));
            step.copy_start_ns = std::max(step.ready_ns, i == 0 ? 0 : batches[i - 1].step.copy_end_ns);
            step.copy_end_ns = step.copy_start_ns + between(0, copy_scale);
            step.start_ns =
                std::max(step.copy_end_ns, i == 0 ? 0 : batches[i - 1].step.end_ns) + (coin() ? 0 : between(0, 9));
            step.end_ns = step.start_ns + between(0, step_scale);
        }
        return batches;
    }

    bool coin() { return between(0, 1) == 0; }
    Nanoseconds between(Nanoseconds low, Nanoseconds high) {
        return std::uniform_int_distribution<Nanoseconds>(low, high)(random_);
    }

private:
    std::mt19937 random_;
};

// Nanosecond by nanosecond: what is the batch of this gap in?
Causes integrate(const std::vector<ScheduledBatch>& batches,
                 Nanoseconds until_ns = std::numeric_limits<Nanoseconds>::max()) {
    Causes causes;
    Nanoseconds last_end = 0;
    for (const ScheduledBatch& batch : batches) {
        for (Nanoseconds t = last_end; t < std::min(batch.step.start_ns, until_ns); ++t) {
            if (t >= batch.step.copy_end_ns) {
                causes[Cause::sync] += 1;
            } else if (t >= batch.step.ready_ns) {
                causes[Cause::h2d] += 1;
            } else if (t < batch.slot_ns) {
                causes[Cause::staging] += 1;
            } else {
                double open = 0;
                double read = 0;
                double decode = 0;
                for (const RequestTrace& r : batch.trace) {
                    if (t >= r.decoded_ns) continue;
                    double& state = t < r.issued_ns ? read : t < r.opened_ns ? open : t < r.read_ns ? read : decode;
                    state += r.samples;
                }
                const double all = open + read + decode;
                if (all == 0) {
                    causes[Cause::other] += 1;
                } else {
                    causes[Cause::open] += open / all;
                    causes[Cause::read] += read / all;
                    causes[Cause::decode] += decode / all;
                }
            }
        }
        last_end = batch.step.end_ns;
    }
    return causes;
}

TEST(TimelineProperty, AnyScheduleSumsUpAndEqualsTheIntegral) {
    constexpr unsigned kSchedules = 3'000;
    double placed[kCauses] = {};
    for (unsigned seed = 0; seed < kSchedules; ++seed) {
        const std::vector<ScheduledBatch> batches = RandomSchedule(seed).make();
        Timeline timeline(0);
        timeline.begin(0);
        Nanoseconds busy = 0;
        for (const ScheduledBatch& batch : batches) {
            timeline.add(batch.step, batch.slot_ns, batch.trace);
            busy += batch.step.end_ns - batch.step.start_ns;
        }
        const IdleFigures figures = timeline.figures();
        const Nanoseconds whole = batches.back().step.end_ns;
        ASSERT_EQ(figures.t1_ns, whole) << "seed " << seed;
        ASSERT_EQ(figures.idle_ns, static_cast<double>(whole - busy)) << "seed " << seed;
        ASSERT_GE(figures.fraction, 0) << "seed " << seed;
        ASSERT_LE(figures.fraction, 1) << "seed " << seed;
        ASSERT_NEAR(figures.by_cause.total(), figures.idle_ns, 1e-6) << "seed " << seed;
        const Causes expected = integrate(batches);
        for (std::size_t i = 0; i < kCauses; ++i) {
            ASSERT_GE(figures.by_cause.ns[i], 0) << "seed " << seed;
            ASSERT_NEAR(figures.by_cause.ns[i], expected.ns[i], 1e-6)
                << to_string(static_cast<Cause>(i)) << ", seed " << seed;
            placed[i] += expected.ns[i];
        }
        for (const std::optional<double>& share : {figures.steady_fraction, figures.mlperf_utilization}) {
            if (!share) continue;
            ASSERT_GE(*share, -1e-12) << "seed " << seed;
            ASSERT_LE(*share, 1 + 1e-12) << "seed " << seed;
        }
    }
    for (std::size_t i = 0; i < kCauses; ++i)
        EXPECT_GT(placed[i], 0) << "no schedule had any " << to_string(static_cast<Cause>(i));
}

TEST(TimelineProperty, AnyScheduleCutAnywhereEqualsTheIntegralUpToThereWithoutTheUnfinishedStep) {
    for (unsigned seed = 0; seed < 1'000; ++seed) {
        RandomSchedule random(seed);
        const std::vector<ScheduledBatch> batches = random.make();
        const Nanoseconds cut_ns = random.between(0, batches.back().step.end_ns);
        Timeline timeline(0);
        timeline.begin(0);
        Nanoseconds busy_ns = 0;
        Nanoseconds end_ns = cut_ns;
        std::uint64_t steps = 0;
        for (const ScheduledBatch& batch : batches) {
            if (batch.step.end_ns > cut_ns) {
                end_ns = std::min(cut_ns, batch.step.start_ns);
                timeline.cut(cut_ns, batch.step, batch.slot_ns, batch.trace);
                break;
            }
            timeline.add(batch.step, batch.slot_ns, batch.trace);
            busy_ns += batch.step.end_ns - batch.step.start_ns;
            ++steps;
        }
        const IdleFigures figures = timeline.figures();
        ASSERT_EQ(figures.t1_ns, end_ns) << "seed " << seed;
        ASSERT_EQ(figures.unfinished_ns, static_cast<double>(cut_ns - end_ns)) << "seed " << seed;
        ASSERT_EQ(figures.steps, steps) << "seed " << seed;
        ASSERT_EQ(figures.busy_ns, static_cast<double>(busy_ns)) << "seed " << seed;
        ASSERT_EQ(figures.idle_ns, static_cast<double>(end_ns - busy_ns)) << "seed " << seed;
        const Causes expected = integrate(batches, end_ns);
        for (std::size_t i = 0; i < kCauses; ++i)
            ASSERT_NEAR(figures.by_cause.ns[i], expected.ns[i], 1e-6)
                << to_string(static_cast<Cause>(i)) << ", seed " << seed;
    }
}

TEST(TimelineProperty, SeveralDevicesSumUpToo) {
    for (unsigned seed = 0; seed < 500; ++seed) {
        RandomSchedule random(seed);
        std::vector<Timeline> devices(static_cast<std::size_t>(random.between(1, 4)), Timeline(1));
        double idle = 0;
        Nanoseconds t1 = 0;
        std::vector<Nanoseconds> busy;
        for (Timeline& device : devices) {
            device.begin(0);
            Nanoseconds own = 0;
            for (const ScheduledBatch& batch : random.make()) {
                device.add(batch.step, batch.slot_ns, batch.trace);
                own += batch.step.end_ns - batch.step.start_ns;
            }
            busy.push_back(own);
            t1 = std::max(t1, device.last_end_ns());
        }
        for (const Nanoseconds own : busy) idle += static_cast<double>(t1 - own) / static_cast<double>(busy.size());
        const IdleFigures figures = combine_all(devices);
        ASSERT_EQ(figures.t1_ns, t1) << "seed " << seed;
        ASSERT_NEAR(figures.idle_ns, idle, 1e-6) << "seed " << seed;
        ASSERT_NEAR(figures.by_cause.total(), idle, 1e-6) << "seed " << seed;
        ASSERT_GE(figures.fraction, 0);
        ASSERT_LE(figures.fraction, 1);
    }
}

}  // namespace
}  // namespace feedline
