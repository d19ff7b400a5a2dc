// A stand-in for the CUDA runtime that runs on the CPU, so that the host side of the CUDA device runs, and is watched,
// where there is no GPU. Programs link it in place of the real runtime; kernels stay uncompiled code, and a test says
// what each of them does (set_kernel).
//
// It is strict rather than fast, and reasons by what is ordered, not by what happened to happen:
//   * An operation takes effect as late as the rules allow: when the host learns that it is over (by waiting for or
//     asking an event after it), not when its time has come. What depends on luck on a GPU fails here every time.
//   * Every operation knows what is ordered before it (vector clocks over streams and events). Two that touch the same
//     GPU memory, one of them writing, with no order between them, are a violation, whatever their times.
//   * Times are computed when an operation is submitted: streams in order, one copy engine a GPU, events after what
//     they wait for. An event is complete once CLOCK_MONOTONIC has passed its time, so the host really waits.
//   * A flag in mapped memory that a kernel polls is looked at when the runtime is called and while a thread waits in
//     it: once it is set, the kernel ends, and what was behind it moves forward (timetable.h).
//
// What it reports (violations(), leaks()): see README.md in this folder.
//
// Thread-safe. State is global, as the runtime's is; reset() begins a test.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"

namespace feedline::test::fake_cudart {

struct Machine {
    int gpus = 1;
    double copy_bytes_per_second = 25e9;
    Nanoseconds copy_latency_ns = 2'000;
    Nanoseconds event_resolution_ns = 500;  // event times are rounded down to it, as the real runtime's roughly are
    std::uint64_t gpu_memory_bytes = 1ULL << 30U;
};

// Forgets everything and starts afresh. No other thread may be inside the runtime.
void reset(const Machine& machine = {});

// What went wrong since reset() or the last call, in words.
std::vector<std::string> violations();

// What was made and not destroyed: streams, events, GPU memory, registered or allocated host memory.
std::vector<std::string> leaks();

// A range of GPU memory that a kernel touches.
struct Access {
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    bool writes = false;
};

// What one launch does. `run` works on GPU memory, which is ordinary memory here, when the launch takes effect.
struct KernelRun {
    Nanoseconds length_ns = 0;
    std::vector<Access> accesses;
    std::function<void()> run;
    const unsigned* stop = nullptr;     // the kernel polls it and ends when it is not 0: in mapped memory; null: none
    Nanoseconds stopped_length_ns = 0;  // what a launch takes that finds it so
};

// `interpret` gets the arguments of the launch, as cudaLaunchKernel got them. Applies to kernels whose (mangled) name
// contains `name`; a launch of a kernel that nobody set is a violation.
void set_kernel(const std::string& name, std::function<KernelRun(void** arguments)> interpret);

// Fault injection. Calls that only clean up (destroy, free, unregister, synchronize a stream) and questions about
// errors do not count and never fail.
std::uint64_t calls();                                          // counted since reset()
void fail_call(std::uint64_t number, cudaError_t error);        // the call with this number (from 0) fails, once
void fail_calls_of(const std::string& api, cudaError_t error);  // every call of this function fails, until reset()
void fail_next_kernel(cudaError_t error);                       // it faults: later waits report it, and then everything
void allow_going_on();                                          // the test saw the error; further calls are fine again

}  // namespace feedline::test::fake_cudart
