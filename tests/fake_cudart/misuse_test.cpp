// Each misuse that the stand-in claims to catch, committed once; and the proper use beside it, which it must not mind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_cudart/fake_cudart.h"
#include "tests/fake_cudart/misuse_kernel.h"

namespace feedline::test {
namespace {

using fake_cudart::KernelRun;
using fake_cudart::Machine;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kBytes = 4096;
constexpr Nanoseconds kHour = 3600 * kNanosecondsPerSecond;

// One of everything, properly made; a test then does one thing wrong.
class FakeCudart : public testing::Test {
protected:
    FakeCudart() {
        fake_cudart::reset();
        fake_cudart::set_kernel("touch_kernel", [](void** arguments) {
            auto* const data = *static_cast<std::byte**>(arguments[0]);
            const auto bytes = *static_cast<unsigned long long*>(arguments[1]);
            KernelRun run;
            run.length_ns = 1'000;
            run.accesses = {{data, bytes, true}};
            run.run = [data, bytes] {
                for (std::uint64_t k = 0; k < bytes; ++k)
                    data[k] = static_cast<std::byte>(static_cast<unsigned char>(data[k]) + 1);
            };
            return run;
        });
        fake_cudart::set_kernel("poll_kernel", [](void** arguments) {
            KernelRun run;
            run.length_ns = kHour;
            run.stop = *static_cast<const unsigned**>(arguments[0]);
            run.stopped_length_ns = 1'000;
            return run;
        });
        EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaStreamCreateWithFlags(&other_stream_, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync), cudaSuccess);
        EXPECT_EQ(cudaMalloc(&gpu_, kBytes), cudaSuccess);
        EXPECT_EQ(cudaHostRegister(host_.data(), kBytes, cudaHostRegisterPortable), cudaSuccess);
    }

    cudaError_t copy_up(cudaStream_t stream) {
        return cudaMemcpyAsync(gpu_, host_.data(), kBytes, cudaMemcpyHostToDevice, stream);
    }
    void finish(cudaStream_t stream) {
        EXPECT_EQ(cudaEventRecord(event_, stream), cudaSuccess);
        EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
    }
    void destroy() {
        EXPECT_EQ(cudaHostUnregister(host_.data()), cudaSuccess);
        EXPECT_EQ(cudaFree(gpu_), cudaSuccess);
        EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
        EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
        EXPECT_EQ(cudaStreamDestroy(other_stream_), cudaSuccess);
    }
    unsigned char* gpu_bytes() const { return static_cast<unsigned char*>(gpu_); }

    // A flag that is not set.
    static unsigned* make_flag(unsigned flags = cudaHostAllocMapped) {
        void* flag = nullptr;
        EXPECT_EQ(cudaHostAlloc(&flag, sizeof(unsigned), flags), cudaSuccess);
        *static_cast<unsigned*>(flag) = 0;
        return static_cast<unsigned*>(flag);
    }
    static void set(unsigned* flag) { std::atomic_ref(*flag).store(1); }

    std::vector<std::byte> host_ = std::vector<std::byte>(kBytes, std::byte{7});
    cudaStream_t stream_ = nullptr;
    cudaStream_t other_stream_ = nullptr;
    cudaEvent_t event_ = nullptr;
    void* gpu_ = nullptr;
};

TEST_F(FakeCudart, ProperUseIsNoMisuseAndDoesWhatItSays) {
    EXPECT_EQ(copy_up(stream_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other_stream_, event_, 0), cudaSuccess);
    launch_touch(other_stream_, gpu_bytes(), kBytes);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
    std::memset(host_.data(), 0, kBytes);  // the copy is over
    EXPECT_EQ(cudaEventRecord(event_, other_stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(stream_, event_, 0), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(host_.data(), gpu_, kBytes, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
    finish(stream_);
    EXPECT_EQ(host_.front(), std::byte{8});
    EXPECT_EQ(host_.back(), std::byte{8});
    destroy();
    EXPECT_THAT(fake_cudart::violations(), IsEmpty());
    EXPECT_THAT(fake_cudart::leaks(), IsEmpty());
}

TEST_F(FakeCudart, TimesAddUpAndEventsComeInTheirTime) {
    cudaEvent_t end = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&end, cudaEventBlockingSync), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    for (int k = 0; k < 100; ++k) launch_touch(stream_, gpu_bytes(), kBytes);
    EXPECT_EQ(cudaEventRecord(end, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(end), cudaSuccess);
    float ms = 0;
    EXPECT_EQ(cudaEventElapsedTime(&ms, event_, end), cudaSuccess);
    EXPECT_GE(ms, 0.1F - 0.001F);
    EXPECT_EQ(cudaEventElapsedTime(&ms, end, event_), cudaSuccess);
    EXPECT_LE(ms, -0.1F + 0.001F);
    EXPECT_THAT(fake_cudart::violations(), IsEmpty());
}

TEST_F(FakeCudart, AFlagEndsTheKernelsThatPollItAndWhatIsBehindThemMovesForward) {
    unsigned* const flag = make_flag();
    void* on_gpu = nullptr;
    EXPECT_EQ(cudaHostGetDevicePointer(&on_gpu, flag, 0), cudaSuccess);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(launch_poll(stream_, static_cast<unsigned*>(on_gpu)), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other_stream_, event_, 0), cudaSuccess);
    cudaEvent_t copied = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&copied, cudaEventBlockingSync), cudaSuccess);
    EXPECT_EQ(copy_up(other_stream_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(copied, other_stream_), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(copied), cudaErrorNotReady);
    EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
    set(flag);
    EXPECT_EQ(cudaEventSynchronize(copied), cudaSuccess);  // and not in three hours
    EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
    float ms = 0;
    EXPECT_EQ(cudaEventElapsedTime(&ms, event_, copied), cudaSuccess);
    EXPECT_GE(ms, 0.002F - 0.001F);
    EXPECT_EQ(cudaFreeHost(flag), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), IsEmpty());
}

TEST_F(FakeCudart, AFlagThatIsSetUnderAWaitingThreadWakesIt) {
    unsigned* const flag = make_flag();
    EXPECT_EQ(launch_poll(stream_, flag), cudaSuccess);
    std::thread setting([flag] { set(flag); });
    finish(stream_);
    setting.join();
    EXPECT_EQ(cudaFreeHost(flag), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), IsEmpty());
}

TEST_F(FakeCudart, CatchesAKernelThatPollsMemoryThatIsNotMapped) {
    const unsigned plain = 0;
    EXPECT_NE(launch_poll(stream_, &plain), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("not mapped")));
    fake_cudart::allow_going_on();
    unsigned* const pinned = make_flag(cudaHostAllocDefault);
    void* on_gpu = nullptr;
    EXPECT_NE(cudaHostGetDevicePointer(&on_gpu, pinned, 0), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("not mapped")));
    fake_cudart::allow_going_on();
    EXPECT_NE(launch_poll(stream_, pinned), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("not mapped")));
}

TEST_F(FakeCudart, CatchesMappedMemoryUsedAfterItWasFreed) {
    unsigned* const flag = make_flag();
    EXPECT_EQ(cudaFreeHost(flag), cudaSuccess);
    EXPECT_NE(launch_poll(stream_, flag), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("after it was freed")));
    EXPECT_NE(cudaFreeHost(flag), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("freed twice")));
}

TEST_F(FakeCudart, CatchesMappedMemoryFreedUnderAKernel) {
    unsigned* const flag = make_flag();
    EXPECT_EQ(launch_poll(stream_, flag), cudaSuccess);
    set(flag);  // which does not tell that the kernel has seen it
    EXPECT_EQ(cudaFreeHost(flag), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("freed while kernel poll_kernel could read it")));
}

TEST_F(FakeCudart, CatchesACopyFromMemoryThatIsNotPinned) {
    std::vector<std::byte> pageable(kBytes);
    EXPECT_NE(cudaMemcpyAsync(gpu_, pageable.data(), kBytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("not pinned")));
}

TEST_F(FakeCudart, CatchesACopyThatReachesBeyondWhatIsPinned) {
    EXPECT_NE(cudaMemcpyAsync(gpu_, host_.data() + 1, kBytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("not pinned")));
}

TEST_F(FakeCudart, CatchesAStreamWaitingForAnEventThatWasNotRecorded) {
    EXPECT_NE(cudaStreamWaitEvent(stream_, event_, 0), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("before it was recorded")));
}

TEST_F(FakeCudart, CatchesTheHostWaitingForAnEventThatWasNotRecorded) {
    EXPECT_NE(cudaEventSynchronize(event_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("before it was recorded")));
}

TEST_F(FakeCudart, CatchesASlotRefilledWhileItsCopyIsInFlight) {
    EXPECT_EQ(copy_up(stream_), cudaSuccess);
    host_[kBytes / 2] = std::byte{8};
    finish(stream_);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("changed before the host knew")));
}

// The copy is long over by the clock, but nothing told the host so.
TEST_F(FakeCudart, CatchesASlotRefilledByLuckAfterItsCopy) {
    EXPECT_EQ(copy_up(stream_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, other_stream_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);  // of the wrong stream
    host_[0] = std::byte{8};
    finish(stream_);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("changed before the host knew")));
}

TEST_F(FakeCudart, CatchesACopyIntoABufferThatAStepStillReads) {
    launch_touch(stream_, gpu_bytes(), kBytes);
    EXPECT_EQ(copy_up(other_stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("no order between")));
}

TEST_F(FakeCudart, CatchesAStepThatDoesNotWaitForItsCopy) {
    EXPECT_EQ(copy_up(stream_), cudaSuccess);
    launch_touch(other_stream_, gpu_bytes(), kBytes);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("no order between")));
}

TEST_F(FakeCudart, CatchesTheDefaultStream) {
    for (const cudaStream_t stream : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
        EXPECT_NE(copy_up(stream), cudaSuccess);
        EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("default stream")));
        fake_cudart::allow_going_on();
        launch_touch(stream, gpu_bytes(), kBytes);
        EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("default stream")));
        fake_cudart::allow_going_on();
        EXPECT_NE(cudaEventRecord(event_, stream), cudaSuccess);
        EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("default stream")));
        fake_cudart::allow_going_on();
    }
}

TEST_F(FakeCudart, CatchesAStreamThatWaitsForTheDefaultStream) {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamDefault), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("waits for the default stream")));
}

TEST_F(FakeCudart, CatchesAHostThatSpins) {
    cudaEvent_t spinning = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&spinning, cudaEventDefault), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(spinning, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(spinning), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("spins")));
}

TEST_F(FakeCudart, CatchesAnEventRecordedAnewBeforeAnyoneSawIt) {
    EXPECT_EQ(copy_up(stream_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("recorded anew")));
}

TEST_F(FakeCudart, CatchesEveryKindOfLeak) {
    unsigned* const flag = make_flag();
    const auto leaks = fake_cudart::leaks();
    EXPECT_THAT(leaks, SizeIs(6));
    EXPECT_THAT(leaks, Contains(HasSubstr("stream 0")));
    EXPECT_THAT(leaks, Contains(HasSubstr("stream 1")));
    EXPECT_THAT(leaks, Contains(HasSubstr("event 0")));
    EXPECT_THAT(leaks, Contains(HasSubstr("GPU memory")));
    EXPECT_THAT(leaks, Contains(HasSubstr("host memory stayed registered")));
    EXPECT_THAT(leaks, Contains(HasSubstr("allocated host memory")));
    EXPECT_EQ(cudaFreeHost(flag), cudaSuccess);
    destroy();
    EXPECT_THAT(fake_cudart::leaks(), IsEmpty());
}

TEST_F(FakeCudart, CatchesAStreamUsedAfterItWasDestroyed) {
    EXPECT_EQ(cudaStreamDestroy(other_stream_), cudaSuccess);
    EXPECT_NE(copy_up(other_stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("after it was destroyed")));
    EXPECT_NE(cudaStreamDestroy(other_stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("after it was destroyed")));
}

TEST_F(FakeCudart, CatchesAnEventUsedAfterItWasDestroyed) {
    EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
    EXPECT_NE(cudaEventRecord(event_, stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("after it was destroyed")));
}

TEST_F(FakeCudart, CatchesGpuMemoryUsedAfterItWasFreed) {
    EXPECT_EQ(cudaFree(gpu_), cudaSuccess);
    EXPECT_NE(copy_up(stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("after it was freed")));
    fake_cudart::allow_going_on();
    launch_touch(stream_, gpu_bytes(), kBytes);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("after it was freed")));
    EXPECT_NE(cudaFree(gpu_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("freed twice")));
}

TEST_F(FakeCudart, CatchesAKernelThatReachesOutsideOfItsMemory) {
    launch_touch(stream_, gpu_bytes(), kBytes + 1);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("outside of GPU memory")));
}

TEST_F(FakeCudart, CatchesHostMemoryUnregisteredDuringItsCopy) {
    EXPECT_EQ(copy_up(stream_), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(host_.data()), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("unregistered during")));
}

TEST_F(FakeCudart, CatchesAnErrorThatTheCallerDropped) {
    fake_cudart::fail_calls_of("cudaMemcpyAsync", cudaErrorInvalidValue);
    static_cast<void>(copy_up(stream_));
    EXPECT_THAT(fake_cudart::violations(), IsEmpty());
    EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("went on with cudaEventRecord")));
}

TEST_F(FakeCudart, CatchesALaunchWhoseErrorNobodyAskedFor) {
    fake_cudart::fail_calls_of("<<<>>>", cudaErrorLaunchOutOfResources);
    launch_touch(stream_, gpu_bytes(), kBytes);
    EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("<<<>>> failed, and the caller went on")));
}

TEST_F(FakeCudart, CleaningUpAfterAnErrorIsNoMisuse) {
    fake_cudart::fail_calls_of("cudaMemcpyAsync", cudaErrorInvalidValue);
    EXPECT_EQ(copy_up(stream_), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    destroy();
    EXPECT_THAT(fake_cudart::violations(), IsEmpty());
    EXPECT_THAT(fake_cudart::leaks(), IsEmpty());
}

TEST_F(FakeCudart, AFaultOfAKernelShowsLaterAndStays) {
    fake_cudart::fail_next_kernel(cudaErrorLaunchFailure);
    launch_touch(stream_, gpu_bytes(), kBytes);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event_), cudaErrorLaunchFailure);
    fake_cudart::allow_going_on();
    EXPECT_EQ(copy_up(other_stream_), cudaErrorLaunchFailure);
}

TEST_F(FakeCudart, CatchesAStreamOfAnotherGpu) {
    fake_cudart::reset(Machine{.gpus = 2});
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_THAT(fake_cudart::violations(), ElementsAre(HasSubstr("while GPU 0 is current")));
}

TEST_F(FakeCudart, ANotReadyAnswerStaysBehindAsTheLastError) {
    fake_cudart::reset(Machine{.copy_bytes_per_second = 1});  // a copy of a byte takes a second
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), cudaSuccess);
    void* gpu = nullptr;
    EXPECT_EQ(cudaMalloc(&gpu, kBytes), cudaSuccess);
    EXPECT_EQ(cudaHostRegister(host_.data(), kBytes, cudaHostRegisterPortable), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(gpu, host_.data(), kBytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    fake_cudart::reset();  // the copy would be over in an hour
}

}  // namespace
}  // namespace feedline::test
