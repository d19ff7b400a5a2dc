#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <thread>

#include "core/error.h"
#include "cuda/device.h"
#include "tests/testutil/manual_clock.h"

namespace feedline {
namespace {

using test::ManualClock;

// One byte a nanosecond, so that lengths of copies are sizes.
DeviceOptions options(unsigned slots, Nanoseconds step_ns, Nanoseconds latency_ns = 0) {
    DeviceOptions options;
    options.slots = slots;
    options.step_ns = step_ns;
    options.h2d_bytes_per_second = 1e9;
    options.h2d_latency_ns = latency_ns;
    return options;
}

struct Arrival {
    Nanoseconds ready_ns = 0;
    std::uint64_t bytes = 0;
};

// The same accelerator, simulated the slow way: time moves from event to event, and at each of them whatever can begin
// begins. Knows no formula.
std::vector<StepTimes> simulate(const std::vector<Arrival>& arrivals, const DeviceOptions& o) {
    enum class State { waiting, copying, copied, stepping, done };
    std::vector<State> states(arrivals.size(), State::waiting);
    std::vector<StepTimes> times(arrivals.size());
    Nanoseconds now = std::numeric_limits<Nanoseconds>::max();
    for (const Arrival& arrival : arrivals) now = std::min(now, arrival.ready_ns);
    const auto busy = [&](State state) { return std::find(states.begin(), states.end(), state) != states.end(); };
    while (states.empty() || states.back() != State::done) {
        if (states.empty()) break;
        bool changed = true;
        while (changed) {
            changed = false;
            for (std::size_t i = 0; i < states.size(); ++i) {
                if (states[i] == State::copying && times[i].copy_end_ns == now) {
                    states[i] = State::copied;
                    changed = true;
                }
                if (states[i] == State::stepping && times[i].end_ns == now) {
                    states[i] = State::done;
                    changed = true;
                }
            }
            std::size_t buffers = 0;
            for (const State state : states) buffers += state != State::waiting && state != State::done ? 1U : 0U;
            for (std::size_t i = 0; i < states.size(); ++i) {
                const bool first_waiting = i == 0 || states[i - 1] != State::waiting;
                const bool previous_done = i == 0 || states[i - 1] == State::done;
                if (states[i] == State::waiting && first_waiting && arrivals[i].ready_ns <= now && buffers < o.slots &&
                    !busy(State::copying) && (!o.serial || previous_done)) {
                    states[i] = State::copying;
                    times[i].index = i;
                    times[i].ready_ns = arrivals[i].ready_ns;
                    times[i].copy_start_ns = now;
                    times[i].copy_end_ns = now + o.h2d_latency_ns + static_cast<Nanoseconds>(arrivals[i].bytes);
                    changed = true;
                    break;
                }
                if (states[i] == State::copied && previous_done) {
                    states[i] = State::stepping;
                    times[i].start_ns = now;
                    times[i].end_ns = now + o.step_ns;
                    changed = true;
                    break;
                }
            }
        }
        Nanoseconds next = std::numeric_limits<Nanoseconds>::max();
        for (std::size_t i = 0; i < states.size(); ++i) {
            if (states[i] == State::copying) next = std::min(next, times[i].copy_end_ns);
            if (states[i] == State::stepping) next = std::min(next, times[i].end_ns);
            if (arrivals[i].ready_ns > now) next = std::min(next, arrivals[i].ready_ns);
        }
        now = next;
    }
    return times;
}

std::vector<StepTimes> run(Device& device, const std::vector<Arrival>& arrivals) {
    std::uint64_t largest = 0;
    for (const Arrival& arrival : arrivals) largest = std::max(largest, arrival.bytes);
    device.begin_epoch(largest);
    for (std::size_t i = 0; i < arrivals.size(); ++i)
        device.enqueue(i, nullptr, arrivals[i].bytes, arrivals[i].ready_ns);
    std::vector<StepTimes> out;
    device.collect(out);
    return out;
}

MATCHER_P(Equals, expected, "") {
    *result_listener << "index " << arg.index << ": h " << arg.ready_ns << " cs " << arg.copy_start_ns << " ce "
                     << arg.copy_end_ns << " s " << arg.start_ns << " e " << arg.end_ns << ", expected h "
                     << expected.ready_ns << " cs " << expected.copy_start_ns << " ce " << expected.copy_end_ns << " s "
                     << expected.start_ns << " e " << expected.end_ns;
    return arg.index == expected.index && arg.ready_ns == expected.ready_ns &&
           arg.copy_start_ns == expected.copy_start_ns && arg.copy_end_ns == expected.copy_end_ns &&
           arg.start_ns == expected.start_ns && arg.end_ns == expected.end_ns;
}

TEST(Emulated, OverlapsCopiesWithStepsUpToItsSlots) {
    ManualClock clock;
    const auto device = make_emulated_device(options(2, 100, 10), clock);
    const auto times = run(*device, {{1000, 40}, {1000, 40}, {1000, 40}, {1000, 0}});
    ASSERT_EQ(times.size(), 4U);
    EXPECT_THAT(times[0], Equals(StepTimes{0, 1000, 1000, 1050, 1050, 1150}));
    EXPECT_THAT(times[1], Equals(StepTimes{1, 1000, 1050, 1100, 1150, 1250}));
    EXPECT_THAT(times[2], Equals(StepTimes{2, 1000, 1150, 1200, 1250, 1350}));  // waits for the buffer of batch 0
    EXPECT_THAT(times[3], Equals(StepTimes{3, 1000, 1250, 1260, 1350, 1450}));  // no bytes: the latency alone
}

TEST(Emulated, SerialCopiesOnlyBetweenSteps) {
    ManualClock clock;
    DeviceOptions serial = options(8, 100, 10);
    serial.serial = true;
    const auto device = make_emulated_device(serial, clock);
    const auto times = run(*device, {{0, 40}, {0, 40}, {500, 40}});
    ASSERT_EQ(times.size(), 3U);
    EXPECT_THAT(times[0], Equals(StepTimes{0, 0, 0, 50, 50, 150}));
    EXPECT_THAT(times[1], Equals(StepTimes{1, 0, 150, 200, 200, 300}));
    EXPECT_THAT(times[2], Equals(StepTimes{2, 500, 500, 550, 550, 650}));
}

TEST(Emulated, TellsTheEndOfACopyAheadInPlaceOfTheWait) {
    ManualClock clock;
    const auto device = make_emulated_device(options(2, 100, 10), clock);
    device->begin_epoch(8);
    std::vector<StepTimes> times;
    for (std::uint64_t i = 0; i < 5; ++i) {
        device->enqueue(i, nullptr, 8, 0);
        device->collect(times);
        EXPECT_EQ(device->copied_at_ns(i), times.back().copy_end_ns);
        EXPECT_THROW(device->wait_copied(i), Error);
    }
    EXPECT_EQ(clock.sleeps(), 0U);
}

TEST(Emulated, InSerialModeASlotIsFreeAfterTheStep) {
    for (const bool serial : {false, true}) {
        ManualClock clock;
        DeviceOptions o = options(1, 100, 10);
        o.serial = serial;
        const auto device = make_emulated_device(o, clock);
        device->begin_epoch(40);
        device->enqueue(0, nullptr, 40, 0);
        EXPECT_EQ(device->wait_copied(0), 0);
        EXPECT_EQ(clock.now(), serial ? 150 : 50);
        device->enqueue(1, nullptr, 40, 200);
        EXPECT_EQ(device->copied_at_ns(1), serial ? 350 : 250);
    }
}

TEST(Emulated, AgreesWithAnEventSimulationOnRandomSchedules) {
    std::mt19937_64 random(20);
    for (int schedule = 0; schedule < 600; ++schedule) {
        const unsigned slots[] = {1, 2, 3, 8};
        DeviceOptions o = options(slots[random() % 4], 0, static_cast<Nanoseconds>(random() % 3 * 5));
        o.step_ns = random() % 4 == 0 ? 0 : static_cast<Nanoseconds>(random() % 120);
        o.serial = random() % 3 == 0;
        // Batches may become ready out of order, and many at once.
        std::vector<Arrival> arrivals(1 + random() % 40);
        const std::uint64_t spread = 1 + random() % 5000;
        for (Arrival& arrival : arrivals) {
            arrival.ready_ns = static_cast<Nanoseconds>(100 + random() % spread);
            arrival.bytes = random() % 5 == 0 ? 0 : random() % 150;
        }
        if (random() % 2 == 0)
            std::sort(arrivals.begin(), arrivals.end(),
                      [](const Arrival& a, const Arrival& b) { return a.ready_ns < b.ready_ns; });
        ManualClock clock;
        const auto device = make_emulated_device(o, clock);
        const auto expected = simulate(arrivals, o);
        const auto times = run(*device, arrivals);
        ASSERT_EQ(times.size(), expected.size());
        for (std::size_t i = 0; i < times.size(); ++i)
            ASSERT_THAT(times[i], Equals(expected[i])) << "schedule " << schedule << ", slots " << o.slots << ", step "
                                                       << o.step_ns << ", serial " << o.serial;
    }
}

TEST(Emulated, WaitSleepsOnceUntilTheCopyIsOver) {
    ManualClock clock(1000);
    const auto device = make_emulated_device(options(2, 100), clock);
    device->begin_epoch(64);
    device->enqueue(0, nullptr, 64, 1000);
    EXPECT_EQ(device->wait_copied(0), 0);
    EXPECT_EQ(clock.now(), 1064);
    EXPECT_EQ(clock.sleeps(), 1U);
}

TEST(Emulated, WaitTellsHowLateItWoke) {
    ManualClock clock(1000);
    const auto device = make_emulated_device(options(2, 100), clock);
    device->begin_epoch(64);
    device->enqueue(0, nullptr, 64, 1000);
    clock.oversleep(70);
    EXPECT_EQ(device->wait_copied(0), 70);
}

TEST(Emulated, WaitDoesNotSleepForACopyThatIsOver) {
    ManualClock clock(1000);
    const auto device = make_emulated_device(options(2, 100), clock);
    device->begin_epoch(64);
    device->enqueue(0, nullptr, 64, 1000);
    clock.advance_to(2000);
    EXPECT_EQ(device->wait_copied(0), 936);
    EXPECT_EQ(clock.sleeps(), 0U);
}

TEST(Emulated, WakingLateChangesNoTime) {
    std::vector<StepTimes> times[2];
    for (int late = 0; late < 2; ++late) {
        ManualClock clock;
        if (late == 1) clock.oversleep(1'000'000);
        const auto device = make_emulated_device(options(2, 100), clock);
        device->begin_epoch(50);
        for (std::uint64_t i = 0; i < 20; ++i) {
            device->enqueue(i, nullptr, 50, static_cast<Nanoseconds>(i) * 10);
            device->wait_copied(i);
        }
        device->drain();
        device->collect(times[late]);
    }
    ASSERT_EQ(times[0].size(), 20U);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_THAT(times[1][i], Equals(times[0][i]));
}

TEST(Emulated, AnEpochForgetsTheOneBefore) {
    ManualClock clock;
    const auto device = make_emulated_device(options(1, 1'000'000), clock);
    const auto first = run(*device, {{0, 10}, {0, 10}});
    const auto second = run(*device, {{5, 10}});
    ASSERT_EQ(second.size(), 1U);
    EXPECT_THAT(second[0], Equals(StepTimes{0, 5, 5, 15, 15, 1'000'015}));
}

TEST(Emulated, RefusesWhatCannotBe) {
    ManualClock clock;
    EXPECT_THROW(make_emulated_device(options(0, 1), clock), Error);
    EXPECT_THROW(make_emulated_device(options(1, -1), clock), Error);
    EXPECT_THROW(make_emulated_device(options(1, 1, -1), clock), Error);
    for (const double rate : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
        DeviceOptions o = options(1, 1);
        o.h2d_bytes_per_second = rate;
        EXPECT_THROW(make_emulated_device(o, clock), Error) << rate;
    }
}

TEST(Emulated, NameCarriesItsNumberWhenThereAreSeveral) {
    ManualClock clock;
    DeviceOptions o = options(1, 1);
    EXPECT_EQ(make_emulated_device(o, clock)->name(), "emulated accelerator");
    o.ordinal = 3;
    EXPECT_EQ(make_emulated_device(o, clock)->name(), "emulated accelerator 3");
}

}  // namespace
}  // namespace feedline
