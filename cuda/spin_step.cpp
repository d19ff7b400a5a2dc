#include <algorithm>
#include <cmath>

#include "cuda/spin_kernel.h"
#include "cuda/step_work.h"

namespace feedline {
namespace {

constexpr int kCalibrations = 9;
constexpr Nanoseconds kLongestCalibration = 1'000'000;

class SpinStep final : public StepWork {
public:
    // Starting and ending a kernel takes a few microseconds that the events see and the kernel does not. They do not
    // depend on its length, so a short one tells them.
    SpinStep(Nanoseconds step_ns, const Stream& stream) : sum_(sizeof(unsigned)) {
        const Nanoseconds trial_ns = std::min(step_ns, kLongestCalibration);
        spin_ns_ = static_cast<std::uint64_t>(trial_ns);
        const double real_ns = shortest_length_ns(stream, sum(), kCalibrations, [&] { launch(stream, nullptr, 0); });
        const auto overhead_ns = static_cast<Nanoseconds>(std::llround(real_ns)) - trial_ns;
        spin_ns_ = static_cast<std::uint64_t>(std::max<Nanoseconds>(0, step_ns - overhead_ns));
    }

    void launch(const Stream& stream, const std::byte* batch, std::uint64_t bytes) override {
        check_cuda(launch_spin_kernel(stream.get(), reinterpret_cast<const unsigned char*>(batch), bytes, spin_ns_,
                                      stop_.on_gpu(), sum()),
                   "cannot launch a step");
    }

    MappedFlag* stop_flag() override { return &stop_; }

private:
    unsigned* sum() const { return reinterpret_cast<unsigned*>(sum_.data()); }

    MappedFlag stop_;
    GpuMemory sum_;  // behind the flag: freeing it waits for the kernels that may still read that
    std::uint64_t spin_ns_ = 0;
};

}  // namespace

std::unique_ptr<StepWork> make_spin_step(Nanoseconds step_ns, const Stream& idle_stream) {
    return std::make_unique<SpinStep>(step_ns, idle_stream);
}

}  // namespace feedline
