// A Result with figures that are easy to check by head.
#pragma once

#include "bench/options.h"
#include "bench/result.h"

namespace feedline::test {

// 1000 samples of 100 KB in 10 s; steps of 0.5 s, 15 of them: busy 7.5 s, idle 2.5 s = 25 %, of which read 2 s, open
// 0.4 s and h2d 0.1 s. The first fill took 0.75 s of it; in the steady state 1.75 s of 8.75 s are idle.
inline EpochResult hand_made_epoch() {
    EpochResult epoch;
    epoch.seconds = 10;
    epoch.samples = 1000;
    epoch.bytes = 100'000'000;
    epoch.steps = 15;
    epoch.idle.t0_ns = 0;
    epoch.idle.t1_ns = 10'000'000'000;
    epoch.idle.steps = 15;
    epoch.idle.busy_ns = 7.5e9;
    epoch.idle.idle_ns = 2.5e9;
    epoch.idle.fraction = 0.25;
    epoch.idle.steady_fraction = 0.2;
    epoch.idle.mlperf_utilization = 0.8;
    epoch.idle.drift = 0.01;
    epoch.idle.by_cause[Cause::read] = 2.0e9;
    epoch.idle.by_cause[Cause::open] = 0.4e9;
    epoch.idle.by_cause[Cause::h2d] = 0.1e9;
    epoch.idle.steady_by_cause[Cause::read] = 1.4e9;
    epoch.idle.steady_by_cause[Cause::open] = 0.28e9;
    epoch.idle.steady_by_cause[Cause::h2d] = 0.07e9;
    epoch.idle.steady_steps = 14;
    epoch.idle.first_fill_ns = 0.75e9;
    epoch.cache = {"cold", "warm", 0.0, 102'400'000, 102'400'000, "/proc/self/io", 102'400'000};
    epoch.h2d_bytes = 100'001'000;
    epoch.padding_bytes = 1000;
    epoch.read_latency_ns = {2'000'000, 3'000'000, 9'000'000, 12'000'000};
    epoch.batch_latency_ns = {20'000'000, 30'000'000, 90'000'000, 120'000'000};
    epoch.cpu_seconds = 1.5;
    epoch.max_rss_bytes = 300'000'000;
    epoch.samples_delivered_once = true;
    epoch.planned_requests = 1000;
    epoch.planned_bytes = 100'000'000;
    epoch.samples_read = 1000;
    epoch.device_reads = 1020;
    epoch.syscalls = 400;
    return epoch;
}

inline Result hand_made_result() {
    BenchOptions options;
    options.cache = CacheMode::cold;
    options.queue_depth = 64;
    options.slots = 2;
    options.engines = {"uring"};
    Result result;
    result.name = "disk/files/uring/custom";
    result.tier_name = "disk";
    result.engine = "uring";
    result.workload = "custom";
    result.config = config_json(options);
    result.dataset = {"/data/train", "files", 1000, 1000, 100'000'000, 100'000, false, false, {}, {}};
    result.dataset.classes = {{"cat", 0, 600}, {"dog", 1, 400}};
    result.tier = {"ext4", "/data", "/dev/vda", "vda", "local-ssd"};
    result.device_kind = "emulated";
    result.device_name = "emulated accelerator";
    result.batch_size = 67;
    result.step_seconds = 0.5;
    result.rounds = {{hand_made_epoch()}};
    result.controls.null_storage = {0.999, 90'000.0, ""};
    result.controls.null_step = {0.8, 110.0, ""};
    result.controls.warm = {0.99, 40'000.0, ""};
    result.controls.h2d = {0.998, 250'000.0, ""};
    result.controls.serial = {0.7, 100.0, ""};
    result.accelerators_sustained = 0.82;
    result.bottleneck = Bottleneck::storage;
    result.step_ns = {60'000'000'000, 500'000'000};
    return result;
}

// The same epoch with another steady idle fraction, as far as the verdict looks at it: the steps and the first fill
// stay, and what is idle in the steady state keeps its causes.
inline void set_steady_idle(EpochResult& epoch, double fraction) {
    IdleFigures& idle = epoch.idle;
    const double busy_ns = 14 * 0.5e9;
    const double steady_idle_ns = busy_ns * fraction / (1 - fraction);
    const double scale = steady_idle_ns / idle.steady_by_cause.total();
    for (double& ns : idle.steady_by_cause.ns) ns *= scale;
    idle.steady_fraction = fraction;
    idle.by_cause = idle.steady_by_cause;
    idle.by_cause[Cause::read] += idle.first_fill_ns;
    idle.idle_ns = idle.by_cause.total() + idle.end_wait_ns;
    idle.by_cause[Cause::sync] += idle.end_wait_ns;
    idle.fraction = idle.idle_ns / (idle.idle_ns + idle.busy_ns);
    idle.t1_ns = static_cast<Nanoseconds>(idle.idle_ns + idle.busy_ns);
    epoch.seconds = static_cast<double>(idle.t1_ns) * 1e-9;
}

inline Context hand_made_context() {
    return {"0.1.0",
            "abc",
            "Release",
            "GNU 12.2.0",
            "off",
            "feedline bench /data/train",
            "2026-01-02T03:04:05Z",
            "CPU",
            2,
            25'000'000'000,
            "6.1.0",
            "0123456789abcdef"};
}

}  // namespace feedline::test
