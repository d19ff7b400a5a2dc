// What a training step does on the GPU. Each kind is calibrated when it is made; how long a step really took is
// measured by the events around it all the same, and that is what is reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/clock.h"
#include "cuda/runtime.h"

namespace feedline {

class StepWork {
public:
    virtual ~StepWork() = default;
    // Enqueues one step, which reads the batch in [batch, batch + bytes) of GPU memory.
    virtual void launch(const Stream& stream, const std::byte* batch, std::uint64_t bytes) = 0;
    // While it is set, steps under way and queued ones end within about a millisecond. Null: this kind cannot be
    // stopped.
    virtual MappedFlag* stop_flag() { return nullptr; }
};

// One block waits on the GPU's own clock, and now and then looks whether it is to stop. The rest of the GPU stays free,
// as it is of no interest here.
std::unique_ptr<StepWork> make_spin_step(Nanoseconds step_ns, const Stream& idle_stream);

// Products of bf16 matrices by cuBLAS, as many as fit the step time, so that memory, clocks and power behave as in
// training. What was launched cannot be stopped. Throws Error{unsupported} where the build or the machine has no
// cuBLAS.
std::unique_ptr<StepWork> make_gemm_step(Nanoseconds step_ns, const Stream& idle_stream);

// The shortest length of what `enqueue` puts on the idle stream, by events, over `repetitions` after one unmeasured.
// The stream is held back until all is enqueued, so that a slow host does not lengthen what is measured. `scratch` is
// GPU memory.
double shortest_length_ns(const Stream& stream, unsigned* scratch, int repetitions,
                          const std::function<void()>& enqueue);

}  // namespace feedline
