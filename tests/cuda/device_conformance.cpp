// What every device must do, whichever it is (cuda/device.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "core/error.h"
#include "tests/cuda/backend.h"

namespace feedline::test {

// For GoogleTest's messages.
std::ostream& operator<<(std::ostream& out, const Backend& backend) {
    return out << backend.name;
}

namespace {

using testing::IsEmpty;

// Host slots between a thread that fills and enqueues and one that waits for copies, as the pipeline has them.
class HostSlots {
public:
    explicit HostSlots(unsigned free) : free_(free) {}
    void take() { change(free_, -1); }
    void give_back() { change(free_, 1); }

private:
    void change(unsigned& count, int by) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return by > 0 || count > 0; });
        count += static_cast<unsigned>(by);
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned free_;
};

struct Batches {
    std::vector<std::uint64_t> bytes;
    std::uint64_t largest() const { return *std::max_element(bytes.begin(), bytes.end()); }
};

Batches random_batches(std::size_t count, std::uint64_t largest, unsigned seed) {
    std::mt19937 random(seed);
    Batches batches;
    for (std::size_t i = 0; i < count; ++i) batches.bytes.push_back(random() % 5 == 0 ? 0 : random() % (largest + 1));
    batches.bytes.back() = largest;
    return batches;
}

std::byte content(std::uint64_t batch, std::uint64_t offset) {
    return static_cast<std::byte>((batch * 131 + offset * 7 + 1) & 0xFFU);
}

// A step that nobody must wait for: whoever did would not be seen again.
constexpr Nanoseconds kHour = 3600 * kNanosecondsPerSecond;

class DeviceConformance : public testing::TestWithParam<Backend> {
protected:
    void SetUp() override { GetParam().prepare(); }
    void TearDown() override {
        devices_.clear();
        slab_.reset();
        EXPECT_THAT(GetParam().complaints(), IsEmpty());
    }

    Device& make(const DeviceOptions& options) {
        devices_.push_back(GetParam().make(options));
        return *devices_.back();
    }
    static DeviceOptions options(unsigned slots, Nanoseconds step_ns, bool serial = false) {
        DeviceOptions options;
        options.kind = GetParam().kind;
        options.slots = slots;
        options.step_ns = step_ns;
        options.serial = serial;
        return options;
    }

    // One epoch as the pipeline runs it: a slot is filled anew as soon as wait_copied() has returned.
    std::vector<StepTimes> run_epoch(Device& device, unsigned slots, const Batches& batches) {
        const std::uint64_t largest = std::max<std::uint64_t>(1, batches.largest());
        slab_ = device.make_slab(largest * slots);
        device.begin_epoch(batches.largest());
        HostSlots free(slots);
        HostSlots copying(0);
        std::thread waiter([&] {
            for (std::uint64_t i = 0; i < batches.bytes.size(); ++i) {
                copying.take();
                const Nanoseconds late_ns = device.wait_copied(i);
                EXPECT_GE(late_ns, 0);
                std::fill_n(slab_->data() + i % slots * largest, batches.bytes[i], std::byte{0xEE});
                free.give_back();
            }
        });
        std::vector<StepTimes> times;
        for (std::uint64_t i = 0; i < batches.bytes.size(); ++i) {
            free.take();
            std::byte* const slot = slab_->data() + i % slots * largest;
            for (std::uint64_t k = 0; k < batches.bytes[i]; ++k) slot[k] = content(i, k);
            device.enqueue(i, slot, batches.bytes[i], GetParam().now());
            copying.give_back();
            if (i % 7 == 0) device.collect(times);
        }
        waiter.join();
        device.drain();
        device.collect(times);
        return times;
    }

    void expect_order(const std::vector<StepTimes>& times, const DeviceOptions& o) const {
        for (std::size_t i = 0; i < times.size(); ++i) {
            SCOPED_TRACE("batch " + std::to_string(i));
            const StepTimes& t = times[i];
            ASSERT_EQ(t.index, i);
            ASSERT_LE(t.ready_ns, t.copy_start_ns);
            ASSERT_LE(t.copy_start_ns, t.copy_end_ns);
            ASSERT_LE(t.copy_end_ns, t.start_ns);
            ASSERT_GE(t.end_ns - t.start_ns, o.step_ns - GetParam().resolution_ns);
            ASSERT_LE(t.start_ns, t.end_ns);
            if (i >= 1) {
                ASSERT_GE(t.copy_start_ns, times[i - 1].copy_end_ns);
                ASSERT_GE(t.start_ns, times[i - 1].end_ns);
                if (o.serial) {
                    ASSERT_GE(t.copy_start_ns, times[i - 1].end_ns - GetParam().resolution_ns);
                }
            }
            if (i >= o.slots) {
                ASSERT_GE(t.copy_start_ns, times[i - o.slots].end_ns - GetParam().resolution_ns);
            }
        }
    }

    std::vector<std::unique_ptr<Device>> devices_;
    std::shared_ptr<Slab> slab_;
};

TEST_P(DeviceConformance, KeepsTheOrderOfTheFiveTimes) {
    unsigned seed = 1;
    for (const unsigned slots : {1U, 2U, 8U}) {
        for (const Nanoseconds step_ns : {0, 40'000, 200'000}) {
            for (const bool serial : {false, true}) {
                SCOPED_TRACE(std::to_string(slots) + " slots, step " + std::to_string(step_ns) + " ns, serial " +
                             std::to_string(serial));
                const DeviceOptions o = options(slots, step_ns, serial);
                const Batches batches = random_batches(60, 3000, seed++);
                const auto times = run_epoch(make(o), slots, batches);
                ASSERT_EQ(times.size(), batches.bytes.size());
                expect_order(times, o);
            }
        }
    }
}

TEST_P(DeviceConformance, RunsThousandsOfSteps) {
    const DeviceOptions o = options(8, 5'000);
    const Batches batches = random_batches(5000, 64, 99);
    const auto times = run_epoch(make(o), 8, batches);
    ASSERT_EQ(times.size(), batches.bytes.size());
    expect_order(times, o);
}

TEST_P(DeviceConformance, RunsBatchesWithoutBytes) {
    const DeviceOptions o = options(2, 20'000);
    const auto times = run_epoch(make(o), 2, Batches{std::vector<std::uint64_t>(20, 0)});
    ASSERT_EQ(times.size(), 20U);
    expect_order(times, o);
}

TEST_P(DeviceConformance, EnqueuesWithoutWaitingForSteps) {
    const DeviceOptions o = options(2, 30'000'000);
    Device& device = make(o);
    slab_ = device.make_slab(1);
    device.begin_epoch(1);
    for (std::uint64_t i = 0; i < 10; ++i) device.enqueue(i, slab_->data(), 1, GetParam().now());
    std::vector<StepTimes> times;
    device.drain();
    device.collect(times);
    ASSERT_EQ(times.size(), 10U);
    expect_order(times, o);
    // All were ready before the first step was over: nobody waited for one.
    EXPECT_LT(times.back().ready_ns, times.front().end_ns);
}

TEST_P(DeviceConformance, CollectsEveryStepOnceAndInOrder) {
    Device& device = make(options(4, 10'000));
    slab_ = device.make_slab(64);
    device.begin_epoch(64);
    std::vector<StepTimes> times;
    for (std::uint64_t i = 0; i < 200; ++i) {
        device.enqueue(i, slab_->data(), 64, GetParam().now());
        device.collect(times);
        device.wait_copied(i);
        device.collect(times);
    }
    device.drain();
    device.collect(times);
    ASSERT_EQ(times.size(), 200U);
    for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(times[i].index, i);
    device.collect(times);
    EXPECT_EQ(times.size(), 200U);
}

TEST_P(DeviceConformance, DrainReturnsWhenTheLastStepIsOver) {
    Device& device = make(options(2, 2'000'000));
    device.begin_epoch(0);
    for (std::uint64_t i = 0; i < 3; ++i) device.enqueue(i, nullptr, 0, GetParam().now());
    device.drain();
    const Nanoseconds now = GetParam().now();
    std::vector<StepTimes> times;
    device.collect(times);
    ASSERT_EQ(times.size(), 3U);
    EXPECT_GE(now + GetParam().offset_ns, times.back().end_ns);
}

TEST_P(DeviceConformance, WaitReturnsWhenTheCopyIsOver) {
    Device& device = make(options(4, 0));
    const std::uint64_t bytes = 1 << 16;
    slab_ = device.make_slab(bytes);
    device.begin_epoch(bytes);
    std::vector<Nanoseconds> woken;
    for (std::uint64_t i = 0; i < 20; ++i) {
        device.enqueue(i, slab_->data(), bytes, GetParam().now());
        EXPECT_GE(device.wait_copied(i), 0);
        woken.push_back(GetParam().now());
    }
    device.drain();
    std::vector<StepTimes> times;
    device.collect(times);
    ASSERT_EQ(times.size(), 20U);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_GE(woken[i] + GetParam().offset_ns, times[i].copy_end_ns);
}

TEST_P(DeviceConformance, IndicesMayHaveGapsAndWaitsMaySkip) {
    Device& device = make(options(4, 1'000));
    slab_ = device.make_slab(8);
    device.begin_epoch(8);
    for (const std::uint64_t index : {3U, 7U, 11U, 15U}) device.enqueue(index, slab_->data(), 8, GetParam().now());
    EXPECT_GE(device.wait_copied(7), 0);
    EXPECT_GE(device.wait_copied(15), 0);
    device.drain();
    std::vector<StepTimes> times;
    device.collect(times);
    ASSERT_EQ(times.size(), 4U);
    EXPECT_EQ(times[3].index, 15U);
}

TEST_P(DeviceConformance, BeginsAnEpochAfresh) {
    const DeviceOptions o = options(2, 50'000);
    Device& device = make(o);
    const std::vector<std::uint64_t> sizes = {100, 5000, 10};  // buffers grow, and need not shrink
    for (const std::uint64_t size : sizes) {
        const Batches batches{std::vector<std::uint64_t>(12, size)};
        const auto times = run_epoch(device, 2, batches);
        ASSERT_EQ(times.size(), 12U);
        expect_order(times, o);
    }
}

TEST_P(DeviceConformance, ForgetsAnEpochThatWasBrokenOff) {
    const DeviceOptions o = options(2, 500'000);
    Device& device = make(o);
    const auto slab = device.make_slab(16);  // lives until the next epoch has begun
    device.begin_epoch(16);
    for (std::uint64_t i = 0; i < 5; ++i) device.enqueue(i, slab->data(), 16, GetParam().now());
    device.wait_copied(1);
    const auto times = run_epoch(device, 2, Batches{std::vector<std::uint64_t>(6, 16)});
    ASSERT_EQ(times.size(), 6U);
    expect_order(times, o);
}

TEST_P(DeviceConformance, EndsWithWorkUnderWay) {
    Device& device = make(options(2, kHour));
    slab_ = device.make_slab(16);
    device.begin_epoch(16);
    for (std::uint64_t i = 0; i < 5; ++i) device.enqueue(i, slab_->data(), 16, GetParam().now());
    devices_.clear();
    SUCCEED();  // TearDown looks for leaks and misuse
}

TEST_P(DeviceConformance, ACutDropsTheStepsThatLieAhead) {
    for (const bool serial : {false, true}) {
        SCOPED_TRACE(serial);
        const DeviceOptions o = options(2, kHour, serial);
        Device& device = make(o);
        slab_ = device.make_slab(64);
        device.begin_epoch(64);
        for (std::uint64_t i = 0; i < 5; ++i) device.enqueue(i, slab_->data(), 64, GetParam().now());
        device.cut();
        device.cut();
        for (std::uint64_t i = 0; i < 5; ++i) EXPECT_GE(device.wait_copied(i), 0);
        device.drain();
        const Nanoseconds now = GetParam().now();
        std::vector<StepTimes> times;
        device.collect(times);
        ASSERT_EQ(times.size(), 5U);
        for (std::size_t i = 0; i < 5; ++i) {
            EXPECT_EQ(times[i].index, i);
            EXPECT_GE(times[i].end_ns - times[i].start_ns, kHour - GetParam().resolution_ns);
            EXPECT_GT(times[i].end_ns, now) << "it was not over";
            if (i > 0) {
                EXPECT_GE(times[i].start_ns, times[i - 1].end_ns);
            }
        }
    }
}

TEST_P(DeviceConformance, ACutWakesWhoeverWaits) {
    for (const bool serial : {false, true}) {
        SCOPED_TRACE(serial);
        Device& device = make(options(1, kHour, serial));
        device.begin_epoch(0);
        for (std::uint64_t i = 0; i < 3; ++i) device.enqueue(i, nullptr, 0, GetParam().now());
        std::thread waiting([&] { device.wait_copied(2); });
        std::thread cutting([&] { device.cut(); });
        device.drain();
        waiting.join();
        cutting.join();
        std::vector<StepTimes> times;
        device.collect(times);
        EXPECT_EQ(times.size(), 3U);
    }
}

TEST_P(DeviceConformance, WhatComesAfterACutIsToldAndNotRun) {
    Device& device = make(options(2, kHour));
    slab_ = device.make_slab(64);
    device.begin_epoch(64);
    device.enqueue(0, slab_->data(), 64, GetParam().now());
    device.cut();
    for (std::uint64_t i = 1; i < 4; ++i) {
        device.enqueue(i, slab_->data(), 64, GetParam().now());
        EXPECT_GE(device.wait_copied(i), 0);
    }
    device.drain();
    const Nanoseconds now = GetParam().now();
    std::vector<StepTimes> times;
    device.collect(times);
    ASSERT_EQ(times.size(), 4U);
    for (const StepTimes& t : times) EXPECT_GT(t.end_ns, now);
}

TEST_P(DeviceConformance, ACutLeavesWhatWasOverAsItWas) {
    const DeviceOptions o = options(4, 200'000'000);
    Device& device = make(o);
    device.begin_epoch(0);
    for (std::uint64_t i = 0; i < 3; ++i) device.enqueue(i, nullptr, 0, GetParam().now());
    device.drain();
    const Nanoseconds cut_ns = GetParam().now();
    for (std::uint64_t i = 3; i < 6; ++i) device.enqueue(i, nullptr, 0, GetParam().now());
    device.cut();
    device.drain();
    std::vector<StepTimes> times;
    device.collect(times);
    ASSERT_EQ(times.size(), 6U);
    expect_order(times, o);  // with the whole step for each
    EXPECT_LE(times[2].end_ns, cut_ns + GetParam().offset_ns);
    EXPECT_GE(times[3].end_ns + GetParam().offset_ns, cut_ns + o.step_ns - GetParam().resolution_ns);
}

TEST_P(DeviceConformance, TheEpochAfterACutIsWhole) {
    const DeviceOptions o = options(2, 5'000'000);
    Device& device = make(o);
    for (int round = 0; round < 3; ++round) {
        const auto slab = device.make_slab(16);
        device.begin_epoch(16);
        for (std::uint64_t i = 0; i < 4; ++i) device.enqueue(i, slab->data(), 16, GetParam().now());
        device.cut();
        const auto times = run_epoch(device, 2, Batches{std::vector<std::uint64_t>(6, 16)});
        ASSERT_EQ(times.size(), 6U);
        expect_order(times, o);
    }
}

TEST_P(DeviceConformance, TheBytesArrive) {
    if (!GetParam().read_back) GTEST_SKIP() << "the emulated accelerator keeps no data";
    for (const unsigned slots : {1U, 3U}) {
        Device& device = make(options(slots, 10'000));
        const Batches batches = random_batches(20, 10'000, slots);
        run_epoch(device, slots, batches);
        const std::uint64_t count = batches.bytes.size();
        for (std::uint64_t i = count - slots; i < count; ++i) {
            const auto bytes = GetParam().read_back(device, *slab_, i, slots, batches.bytes[i]);
            ASSERT_EQ(bytes.size(), batches.bytes[i]);
            for (std::uint64_t k = 0; k < bytes.size(); ++k) ASSERT_EQ(bytes[k], content(i, k)) << i << " at " << k;
        }
    }
}

TEST_P(DeviceConformance, TheSlabIsAlignedAndShared) {
    Device& first = make(options(2, 0));
    Device& second = make(options(2, 0));
    slab_ = first.make_slab(3 << 20);
    ASSERT_GE(slab_->bytes(), 3U << 20U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slab_->data()) % (2U << 20U), 0U);
    std::fill_n(slab_->data(), slab_->bytes(), std::byte{1});
    for (Device* const device : {&first, &second}) {
        device->begin_epoch(4096);
        device->enqueue(0, slab_->data(), 4096, GetParam().now());
        device->wait_copied(0);
        device->drain();
    }
}

TEST_P(DeviceConformance, RefusesWhatBreaksTheContract) {
    Device& device = make(options(2, 0));
    slab_ = device.make_slab(100);
    device.begin_epoch(50);
    EXPECT_THROW(device.enqueue(0, slab_->data(), 51, 0), Error);
    device.enqueue(4, slab_->data(), 50, GetParam().now());
    EXPECT_THROW(device.enqueue(4, slab_->data(), 50, GetParam().now()), Error);
    EXPECT_THROW(device.wait_copied(5), Error);
    device.drain();
}

TEST_P(DeviceConformance, RefusesOptionsThatCannotBe) {
    EXPECT_THROW(make(options(0, 0)), Error);
    EXPECT_THROW(make(options(1, -1)), Error);
    DeviceOptions negative = options(1, 0);
    negative.ordinal = -1;
    EXPECT_THROW(make(negative), Error);
}

TEST_P(DeviceConformance, SaysWhatItIs) {
    Device& device = make(options(1, 0));
    EXPECT_EQ(device.kind(), GetParam().kind);
    EXPECT_FALSE(device.name().empty());
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceConformance, testing::ValuesIn(backends()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace

}  // namespace feedline::test
