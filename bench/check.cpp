#include "bench/check.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <string_view>

#include "bench/outputs.h"
#include "bench/require.h"
#include "core/presets.h"
#include "core/units.h"
#include "loaders/decode/decoder.h"

namespace feedline {
namespace {

constexpr std::array<std::string_view, 7> kEngineNames{"auto",  "all",          "pread", "mmap",
                                                       "uring", "uring-direct", "native"};

[[noreturn]] void refuse(std::string why) {
    throw Error(ErrorKind::usage, std::move(why));
}

void check_datasets(const BenchOptions& options) {
    if (options.datasets.empty())
        refuse("no dataset given. Name a directory of files, as in: feedline bench /data/train");
    std::set<std::string> names;
    for (const DatasetArgument& dataset : options.datasets) {
        if (!names.insert(dataset.name).second) {
            refuse(
                fmt::format("two datasets are called '{}'; tell them apart with NAME=PATH", printable(dataset.name)));
        }
    }
    if (options.format == "auto") return;
    std::string known = "auto";
    for (const Format* format : all_formats()) {
        if (options.format == format->name()) return;
        known += fmt::format(", {}", format->name());
    }
    refuse(fmt::format("no format '{}'; there are: {}", printable(options.format), known));
}

void check_engines(const BenchOptions& options) {
    std::set<std::string> names;
    for (const std::string& name : options.engines) {
        if (std::find(kEngineNames.begin(), kEngineNames.end(), name) == kEngineNames.end()) {
            refuse(fmt::format("no engine '{}'; there are: {}", printable(name), fmt::join(kEngineNames, ", ")));
        }
        if (!names.insert(name).second) refuse(fmt::format("engine '{}' is given twice", name));
    }
    for (const char* alone : {"all", "auto"}) {
        if (names.contains(alone) && names.size() > 1) {
            refuse(fmt::format("--engine {} stands alone, and was given with others", alone));
        }
    }
}

void check_reading(const BenchOptions& options, const Capabilities& machine) {
    if (options.rank >= options.world) {
        refuse(fmt::format("--rank {} of --world {}: ranks count from 0 to {}", options.rank, options.world,
                           options.world - 1));
    }
    if (options.queue_depth > 0 && options.threads > options.queue_depth) {
        refuse(
            fmt::format("--threads {} with --queue-depth {}: the depth is over all threads, so some would have "
                        "nothing to do",
                        options.threads, options.queue_depth));
    }
    if (machine.max_threads > 0 && std::max<std::uint64_t>(options.threads, 1) > machine.max_threads) {
        refuse(fmt::format("--threads {}: this user may run {}", options.threads, machine.max_threads));
    }
    // An engine with one read in flight a thread takes its threads from the depth.
    const bool thread_a_read = std::any_of(options.engines.begin(), options.engines.end(), [](const std::string& name) {
        return name == "all" || name == "pread" || name == "mmap" || name == "native";
    });
    constexpr unsigned kMostReaders = 4096;
    if (thread_a_read && options.threads == 0 && options.queue_depth > kMostReaders) {
        refuse(fmt::format(
            "--queue-depth {}: pread, mmap and native run a thread for each read in flight, and {} is the most",
            options.queue_depth, kMostReaders));
    }
    if (thread_a_read && options.threads > kMostReaders) {
        refuse(fmt::format("--threads {}: {} is the most", options.threads, kMostReaders));
    }
    // Below it, whether a read on time is called hung would be left to chance.
    constexpr Nanoseconds kShortestTimeout = 10'000'000;
    if (options.io_timeout_ns > 0 && options.io_timeout_ns < kShortestTimeout) {
        refuse(fmt::format("--io-timeout {}: {} is the least; it is for reads that hang, not for slow ones",
                           format_time(options.io_timeout_ns), format_time(kShortestTimeout)));
    }
    if (options.drop_caches && options.cache != CacheMode::cold) {
        refuse("--drop-caches is for --cache cold, which was not asked for");
    }
    if (options.drop_caches && !machine.root) {
        refuse("--drop-caches needs root; --cache cold alone evicts the dataset's own pages without it");
    }
    if (options.decode == DecodeMode::crc && !machine.crc) {
        refuse("--decode crc: this build has no CRC32C (built without isa-l; Debian: libisal-dev)");
    }
    if (options.decode == DecodeMode::jpeg && !machine.jpeg) {
        refuse(
            "--decode jpeg: this build has no JPEG decoder (built without libjpeg-turbo; Debian: libturbojpeg0-dev)");
    }
    if (options.steps > 0 && options.warmup_steps >= options.steps) {
        refuse(fmt::format("--warmup-steps {} leaves nothing of --steps {}", options.warmup_steps, options.steps));
    }
}

void check_device(const BenchOptions& options, const Capabilities& machine) {
    if (!options.workload.empty()) find_preset(options.workload);
    constexpr std::array<std::string_view, 3> kinds{"auto", "cuda", "emulated"};
    if (std::find(kinds.begin(), kinds.end(), options.device) == kinds.end()) {
        refuse(fmt::format("no device '{}'; there are: {}", printable(options.device), fmt::join(kinds, ", ")));
    }
    if (options.device == "cuda" && machine.cuda_devices == 0) {
        refuse(fmt::format("--device cuda: {}; --device emulated needs none", machine.no_cuda_reason));
    }
    const bool cuda = chosen_device(options, machine) == DeviceKind::cuda;
    if (cuda && options.accelerators > machine.cuda_devices) {
        refuse(fmt::format("--accelerators {}: this machine has {}; --device emulated runs any number",
                           options.accelerators, format_counted(machine.cuda_devices, "usable GPU")));
    }
    if (!cuda && options.step_kernel == StepKernel::gemm) {
        refuse("--step-kernel gemm computes on a CUDA device, and the emulated accelerator computes nothing");
    }
    const BenchOptions defaults;
    // Beyond these the times of a run leave the 64 bits of nanoseconds in which they are counted.
    constexpr Nanoseconds kLongest = Nanoseconds{24} * 3600 * kNanosecondsPerSecond;
    constexpr double kLeastRate = 1000;
    if (options.step_time_ns.value_or(0) > kLongest || options.h2d_latency_ns > kLongest) {
        throw Error(ErrorKind::usage, "--step-time and --h2d-latency can be 24h at most");
    }
    if (options.h2d_rate < kLeastRate) throw Error(ErrorKind::usage, "--h2d-rate must be at least 1KB/s");
    if (cuda && (options.h2d_rate != defaults.h2d_rate || options.h2d_latency_ns != defaults.h2d_latency_ns)) {
        refuse(
            "--h2d-rate and --h2d-latency describe the emulated copy; a CUDA device has its own. Add --device "
            "emulated");
    }
}

std::uint64_t thread_limit() {
    std::uint64_t limit = 0;
    const auto apply = [&](std::uint64_t value) { limit = limit == 0 ? value : std::min(limit, value); };
    rlimit user{};
    if (::getrlimit(RLIMIT_NPROC, &user) == 0 && user.rlim_cur != RLIM_INFINITY) apply(user.rlim_cur);
    std::ifstream file("/proc/sys/kernel/threads-max");
    if (std::uint64_t machine = 0; file >> machine) apply(machine);
    return limit;
}

template <typename Make>
bool can_make(Make make) {
    try {
        return make() != nullptr;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

Capabilities machine_capabilities() {
    Capabilities machine;
    machine.root = ::geteuid() == 0;
    machine.crc = can_make(make_crc_decoder);
    machine.jpeg = can_make(make_jpeg_decoder);
    machine.cuda_devices = cuda_device_count(&machine.no_cuda_reason);
    machine.max_threads = thread_limit();
    return machine;
}

DeviceKind chosen_device(const BenchOptions& options, const Capabilities& machine) {
    if (options.device == "cuda") return DeviceKind::cuda;
    return options.device == "auto" && machine.cuda_devices > 0 ? DeviceKind::cuda : DeviceKind::emulated;
}

void check_options(const BenchOptions& options, const Capabilities& machine) {
    check_datasets(options);
    check_engines(options);
    check_reading(options, machine);
    check_device(options, machine);
    requirements_of(options);
    check_outputs(outputs_of(options), options.datasets);
}

}  // namespace feedline
