// Every option of `feedline bench`, declared once: name, type, default and help stand in visit_options(). From that
// come the command-line flag, the `config` field of the result, and the line in the report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/coldness.h"
#include "core/clock.h"
#include "core/error.h"
#include "cuda/device.h"
#include "loaders/engine/engine.h"
#include "loaders/loader.h"
#include "loaders/order.h"

namespace feedline {

enum class DecodeMode { none, crc, jpeg };

struct DatasetArgument {
    std::string name;  // tier label; the path's last component when none was given
    std::string path;
};

struct BenchOptions {
    std::vector<DatasetArgument> datasets;
    std::string format = "auto";
    std::vector<std::string> engines{"auto"};  // names, or "all"
    unsigned accelerators = 1;
    std::uint32_t rank = 0;
    std::uint32_t world = 1;
    unsigned queue_depth = 0;      // 0: chosen
    unsigned threads = 0;          // 0: chosen
    std::uint64_t batch_size = 0;  // 0: the workload's, else 256
    unsigned slots = 8;
    OrderMode order = OrderMode::shuffle;
    std::uint64_t seed = 0;
    unsigned epochs = 1;
    unsigned rounds = 1;
    std::uint64_t steps = 0;  // 0: the whole epoch
    Nanoseconds duration_ns = 0;
    std::uint64_t warmup_steps = 0;
    Nanoseconds io_timeout_ns = 0;
    CacheMode cache = CacheMode::as_is;
    bool drop_caches = false;
    std::string device = "auto";
    std::string workload;
    std::optional<Nanoseconds> step_time_ns;
    DecodeMode decode = DecodeMode::none;
    StepKernel step_kernel = StepKernel::spin;
    double h2d_rate = 25e9;
    Nanoseconds h2d_latency_ns = 10'000;
    OnError on_error = OnError::stop;
    bool controls = true;
    std::string json_file;
    std::string csv_file;
    std::vector<std::string> require;
    bool no_progress = false;
    bool quiet = false;
};

}  // namespace feedline
