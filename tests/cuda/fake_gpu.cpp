#include "tests/cuda/fake_gpu.h"

namespace feedline::test {

void start_fake_gpu(const fake_cudart::Machine& machine,
                    std::function<void(const std::byte* batch, std::uint64_t bytes)> on_step) {
    fake_cudart::reset(machine);
    fake_cudart::set_kernel("feedline_spin_step", [on_step = std::move(on_step)](void** arguments) {
        const auto* const batch = *static_cast<std::byte**>(arguments[0]);
        const auto bytes = *static_cast<unsigned long long*>(arguments[1]);
        const auto spin_ns = *static_cast<unsigned long long*>(arguments[2]);
        const auto* const stop = *static_cast<const unsigned**>(arguments[3]);
        const auto* const sum = *static_cast<std::byte**>(arguments[4]);
        fake_cudart::KernelRun run;
        run.length_ns = static_cast<Nanoseconds>(spin_ns) + kFakeLaunchOverhead;
        run.stop = stop;
        run.stopped_length_ns = kFakeLaunchOverhead;
        run.accesses.push_back({sum, sizeof(unsigned), true});
        if (bytes > 0) run.accesses.push_back({batch, bytes, false});
        if (on_step) run.run = [on_step, batch, bytes] { on_step(batch, bytes); };
        return run;
    });
}

std::vector<std::string> fake_gpu_complaints() {
    std::vector<std::string> all = fake_cudart::violations();
    for (const std::string& leak : fake_cudart::leaks()) all.push_back(leak);
    return all;
}

}  // namespace feedline::test
