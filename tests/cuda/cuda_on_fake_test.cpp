// The CUDA device on the stand-in for its runtime: what only a runtime that watches can tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "cuda/cuda_device.h"
#include "tests/cuda/fake_gpu.h"

namespace feedline::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

DeviceOptions options(unsigned slots, Nanoseconds step_ns) {
    DeviceOptions options;
    options.kind = DeviceKind::cuda;
    options.slots = slots;
    options.step_ns = step_ns;
    return options;
}

// Everything a run does, on one thread, so that the calls come in the same order every time. Returns how many calls the
// runtime got until the clean-up.
std::uint64_t whole_run(const DeviceOptions& o) {
    std::shared_ptr<Slab> slab;
    const auto device = make_cuda_device(o);
    slab = device->make_slab(4096);
    for (const std::uint64_t largest : {512U, 1024U}) {
        device->begin_epoch(largest);
        std::vector<StepTimes> times;
        for (std::uint64_t i = 0; i < 6; ++i) {
            device->enqueue(i, slab->data() + i % 4 * 1024, largest, now_ns());
            if (i >= 1) device->wait_copied(i - 1);
            device->collect(times);
        }
        device->wait_copied(5);
        device->drain();
        device->collect(times);
        EXPECT_EQ(times.size(), 6U);
    }
    return fake_cudart::calls();
}

TEST(CudaOnFake, EveryErrorOfEveryCallEndsTheRunInOrder) {
    start_fake_gpu();
    const std::uint64_t calls = whole_run(options(2, 20'000));
    ASSERT_THAT(fake_gpu_complaints(), IsEmpty());
    ASSERT_GT(calls, 150U);
    std::uint64_t failed = 0;
    for (std::uint64_t number = 0; number < calls; ++number) {
        SCOPED_TRACE("call " + std::to_string(number));
        start_fake_gpu();
        fake_cudart::fail_call(number, cudaErrorInvalidValue);
        try {
            // How often the device asks whether an event has come depends on time, so this run may need fewer calls.
            EXPECT_LE(whole_run(options(2, 20'000)), number) << "no error came of it";
        } catch (const Error& error) {
            ++failed;
            EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
        }
        ASSERT_THAT(fake_gpu_complaints(), IsEmpty());
    }
    EXPECT_GT(failed, calls / 2);
}

TEST(CudaOnFake, AFaultingStepIsReportedAndNothingHangs) {
    start_fake_gpu();
    {
        std::shared_ptr<Slab> slab;
        const auto device = make_cuda_device(options(2, 10'000));
        slab = device->make_slab(64);
        device->begin_epoch(64);
        device->enqueue(0, slab->data(), 64, now_ns());
        fake_cudart::fail_next_kernel(cudaErrorLaunchFailure);
        device->enqueue(1, slab->data(), 64, now_ns());
        try {
            device->drain();
            ADD_FAILURE() << "no error";
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("unspecified launch failure"));
            EXPECT_EQ(exit_code(error.kind()), 5);
        }
    }
    EXPECT_THAT(fake_gpu_complaints(), IsEmpty());
}

TEST(CudaOnFake, EachStepReadsItsOwnBatch) {
    std::vector<std::vector<std::byte>> seen;
    start_fake_gpu({}, [&](const std::byte* batch, std::uint64_t bytes) {
        if (bytes > 0) seen.emplace_back(batch, batch + bytes);
    });
    constexpr std::uint64_t kBatches = 100;
    constexpr std::uint64_t kBytes = 300;
    constexpr std::uint64_t kHostSlots = 3;
    {
        const auto device = make_cuda_device(options(2, 5'000));
        const auto slab = device->make_slab(kHostSlots * kBytes);
        device->begin_epoch(kBytes);
        for (std::uint64_t i = 0; i < kBatches; ++i) {
            if (i >= kHostSlots) device->wait_copied(i - kHostSlots);
            std::fill_n(slab->data() + i % kHostSlots * kBytes, kBytes, static_cast<std::byte>(i));
            device->enqueue(i, slab->data() + i % kHostSlots * kBytes, kBytes, now_ns());
        }
        device->drain();
    }
    ASSERT_EQ(seen.size(), kBatches);
    for (std::uint64_t i = 0; i < kBatches; ++i)
        EXPECT_EQ(seen[i], std::vector<std::byte>(kBytes, static_cast<std::byte>(i))) << i;
    EXPECT_THAT(fake_gpu_complaints(), IsEmpty());
}

TEST(CudaOnFake, NoStepIsLaunchedAfterACut) {
    std::uint64_t launched = 0;
    start_fake_gpu({}, [&](const std::byte*, std::uint64_t bytes) { launched += bytes > 0 ? 1 : 0; });
    {
        const auto device = make_cuda_device(options(2, 3600 * kNanosecondsPerSecond));
        const auto slab = device->make_slab(64);
        device->begin_epoch(64);
        for (std::uint64_t i = 0; i < 3; ++i) device->enqueue(i, slab->data(), 64, now_ns());
        device->cut();
        for (std::uint64_t i = 3; i < 9; ++i) device->enqueue(i, slab->data(), 64, now_ns());
        device->drain();
        EXPECT_EQ(launched, 3U);
    }
    EXPECT_THAT(fake_gpu_complaints(), IsEmpty());
}

// Proof that the stand-in would notice in the device what misuse_test.cpp shows it notices alone.
TEST(CudaOnFake, ASlotRefilledTooEarlyIsNoticed) {
    start_fake_gpu();
    {
        const auto device = make_cuda_device(options(2, 5'000));
        const auto slab = device->make_slab(64);
        device->begin_epoch(64);
        device->enqueue(0, slab->data(), 64, now_ns());
        slab->data()[10] = std::byte{1};  // before wait_copied(0)
        device->wait_copied(0);
        device->drain();
    }
    EXPECT_THAT(fake_gpu_complaints(), testing::ElementsAre(HasSubstr("changed before the host knew")));
}

TEST(CudaOnFake, MemoryThatWasNotMadeByTheDeviceIsNoticed) {
    start_fake_gpu();
    {
        const auto device = make_cuda_device(options(2, 5'000));
        const auto plain = make_host_slab(64);
        device->begin_epoch(64);
        EXPECT_THROW(device->enqueue(0, plain->data(), 64, now_ns()), Error);
    }
    EXPECT_THAT(fake_gpu_complaints(), testing::ElementsAre(HasSubstr("not pinned")));
}

// Launching costs 3 us here (kFakeLaunchOverhead), which calibration must take off.
TEST(CudaOnFake, AStepTakesTheTimeAskedFor) {
    for (const Nanoseconds step_ns : {Nanoseconds{375'000}, Nanoseconds{5'000'000}}) {
        start_fake_gpu();
        const auto device = make_cuda_device(options(2, step_ns));
        device->begin_epoch(0);
        for (std::uint64_t i = 0; i < 20; ++i) device->enqueue(i, nullptr, 0, now_ns());
        device->drain();
        std::vector<StepTimes> times;
        device->collect(times);
        ASSERT_EQ(times.size(), 20U);
        // Two events of 500 ns each, in the calibration and in the measurement. A host that is slow between the event
        // before a step and the step makes it longer, but not the shortest of many.
        Nanoseconds shortest_ns = times.front().end_ns - times.front().start_ns;
        for (const StepTimes& t : times) shortest_ns = std::min(shortest_ns, t.end_ns - t.start_ns);
        EXPECT_LE(std::abs(shortest_ns - step_ns), 2'100) << step_ns;
    }
}

TEST(CudaOnFake, TimesStayInOrderWhenTheClockIsSteered) {
    start_fake_gpu();
    {
        // More than a second, so that anchors are dropped under way.
        const auto device = make_cuda_device(options(2, 300'000'000));
        device->begin_epoch(0);
        std::vector<StepTimes> times;
        for (std::uint64_t i = 0; i < 5; ++i) {
            device->enqueue(i, nullptr, 0, now_ns());
            device->drain();
        }
        device->collect(times);
        ASSERT_EQ(times.size(), 5U);
        for (std::size_t i = 0; i < times.size(); ++i) {
            EXPECT_LE(times[i].ready_ns, times[i].copy_start_ns);
            EXPECT_GE(times[i].end_ns - times[i].start_ns, 300'000'000 - 302'000);  // slewed by at most 0.1 %
            if (i > 0) {
                EXPECT_GE(times[i].start_ns, times[i - 1].end_ns);
            }
        }
    }
    EXPECT_THAT(fake_gpu_complaints(), IsEmpty());
}

TEST(CudaOnFake, SeveralGpusShareASlabAndKeepApart) {
    start_fake_gpu({.gpus = 3});
    {
        std::vector<std::unique_ptr<Device>> devices;
        for (int ordinal = 0; ordinal < 3; ++ordinal) {
            DeviceOptions o = options(2, 20'000);
            o.ordinal = ordinal;
            devices.push_back(make_cuda_device(o));
            EXPECT_THAT(devices.back()->name(), HasSubstr("Stand-in GPU " + std::to_string(ordinal)));
            EXPECT_THAT(devices.back()->name(), HasSubstr("0000:0" + std::to_string(ordinal + 1)));
        }
        const auto slab = devices[0]->make_slab(768);
        for (const auto& device : devices) device->begin_epoch(256);
        // Batch k goes to device k mod 3, from one thread; another waits.
        for (std::uint64_t k = 0; k < 30; ++k) {
            devices[k % 3]->enqueue(k, slab->data() + k % 3 * 256, 256, now_ns());
            std::thread([&] { devices[k % 3]->wait_copied(k); }).join();
        }
        for (const auto& device : devices) {
            device->drain();
            std::vector<StepTimes> times;
            device->collect(times);
            EXPECT_EQ(times.size(), 10U);
        }
    }
    EXPECT_THAT(fake_gpu_complaints(), IsEmpty());
}

TEST(CudaOnFake, RefusesAGpuThatIsNotThere) {
    start_fake_gpu({.gpus = 2});
    DeviceOptions o = options(2, 0);
    o.ordinal = 2;
    try {
        make_cuda_device(o);
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        EXPECT_THAT(error.what(), HasSubstr("number 2"));
        EXPECT_THAT(error.what(), HasSubstr("has 2"));
    }
    EXPECT_EQ(cuda_device_count(), 2U);
}

TEST(CudaOnFake, SaysWhyThereIsNoGpu) {
    start_fake_gpu({.gpus = 0});
    std::string reason;
    EXPECT_EQ(cuda_device_count(&reason), 0U);
    EXPECT_THAT(reason, HasSubstr("no CUDA-capable device"));
    fake_cudart::allow_going_on();
    EXPECT_THROW(make_cuda_device(options(2, 0)), Error);
}

TEST(CudaOnFake, SaysThatBuffersDoNotFitTheGpu) {
    start_fake_gpu({.gpu_memory_bytes = 1 << 20});
    {
        const auto device = make_cuda_device(options(8, 0));
        try {
            device->begin_epoch(1 << 18);
            ADD_FAILURE() << "no error";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_THAT(error.what(), HasSubstr("2.10 MB"));
        }
    }
    EXPECT_THAT(fake_gpu_complaints(), IsEmpty());
}

TEST(CudaOnFake, SaysThatTheSlabCannotBePinned) {
    start_fake_gpu();
    {
        const auto device = make_cuda_device(options(2, 0));
        fake_cudart::fail_calls_of("cudaHostRegister", cudaErrorMemoryAllocation);
        try {
            device->make_slab(1 << 20);
            ADD_FAILURE() << "no error";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_THAT(error.what(), HasSubstr("pin"));
        }
    }
    EXPECT_THAT(fake_gpu_complaints(), IsEmpty());
}

}  // namespace
}  // namespace feedline::test
