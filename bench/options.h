// Every option of `feedline bench`, declared once: name, type, default and help stand in visit_options(). From that
// come the command-line flag, the `config` field of the result, and the line in the report.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/coldness.h"
#include "core/clock.h"
#include "core/error.h"
#include "cuda/device.h"
#include "loaders/decode/record_decoder.h"
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
    std::string hdf5_dataset;                  // empty: to be found
    std::vector<std::string> engines{"auto"};  // names, or "all"
    unsigned accelerators = 1;
    std::uint32_t rank = 0;
    std::uint32_t world = 1;
    unsigned queue_depth = 0;      // 0: chosen
    unsigned threads = 0;          // 0: chosen
    std::uint64_t batch_size = 0;  // 0: the workload's, else kDefaultBatchSize
    unsigned slots = 8;
    OrderMode order = OrderMode::shuffle;
    std::uint64_t seed = 0;
    unsigned epochs = 1;
    unsigned rounds = 1;
    std::uint64_t steps = 0;  // 0: the whole epoch
    Nanoseconds duration_ns = 0;
    std::uint64_t warmup_steps = 0;
    Nanoseconds io_timeout_ns = 0;
    std::string index_cache = "auto";
    CacheMode cache = CacheMode::as_is;
    bool drop_caches = false;
    std::string device = "auto";
    std::string workload;
    std::optional<Nanoseconds> step_time_ns;
    DecodeMode decode = DecodeMode::none;
    CheckMode crc = CheckMode::off;
    StepKernel step_kernel = StepKernel::spin;
    double h2d_rate = DeviceOptions{}.h2d_bytes_per_second;
    Nanoseconds h2d_latency_ns = DeviceOptions{}.h2d_latency_ns;
    OnError on_error = OnError::stop;
    bool controls = true;
    std::string json_file;
    std::string csv_file;
    std::vector<std::string> require;
    bool no_progress = false;
    bool quiet = false;
    std::string result_file;  // no option: FEEDLINE_RESULT_FILE, another place for the JSON
};

// What `help` as a value prints: the known workloads; the figures that --require can name.
std::string list_workloads();
std::string list_figures();

inline constexpr std::uint64_t kDefaultBatchSize = 256;

enum class OptionGroup { what, reading, accelerator, run, output };
std::string_view title(OptionGroup group);

struct OptionInfo {
    std::string_view name;   // without dashes: "queue-depth"
    std::string_view value;  // what stands for the value in --help: "N", "TIME", "a|b"; empty for a switch
    std::string_view help;   // what it does and its unit, without the default
    OptionGroup group = OptionGroup::what;
    std::string_view unset = {};      // the default in words, where the value 0 or "" means "not given"
    bool zero = false;                // the user may give 0
    bool repeatable = false;          // a list: once an entry; otherwise a list is separated by commas
    std::string (*list)() = nullptr;  // what `help` in place of the value prints
};

// Calls visit(OptionInfo, member&) for every option but the datasets, in the order of --help. The member's type says
// how its text is read: Nanoseconds a time, double a rate, an unsigned type a count, an enumeration its names, bool a
// switch.
template <typename Options, typename Visitor>
void visit_options(Options& o, Visitor&& visit) {
    using enum OptionGroup;
    visit(OptionInfo{"format", "auto|files|hdf5|lmdb|pth|tfrecord|webdataset", "format of the datasets", what},
          o.format);
    visit(OptionInfo{"hdf5-dataset", "NAME", "hdf5: the dataset whose rows are the samples", what,
                     "found: images, records, data with offsets, or the only one"},
          o.hdf5_dataset);
    visit(OptionInfo{"workload", "NAME",
                     "published workload to emulate: fixes batch size and step time; `help` lists them", what,
                     "none: the pure loading rate", false, false, list_workloads},
          o.workload);
    visit(OptionInfo{"step-time", "TIME", "how long the accelerator computes on a batch, with its unit (us, ms, s)",
                     what, "the workload's, else 0: the pure loading rate", true},
          o.step_time_ns);
    visit(OptionInfo{"batch-size", "N", "samples a step and accelerator", what, "the workload's, else 256"},
          o.batch_size);
    visit(OptionInfo{"order", "shuffle|sequential", "order of samples", what}, o.order);
    visit(OptionInfo{"seed", "N", "of the shuffling", what, "0", true}, o.seed);
    visit(OptionInfo{"rank", "N", "read the share of this rank", what, "0", true}, o.rank);
    visit(OptionInfo{"world", "N", "number of ranks that share the dataset", what}, o.world);
    visit(OptionInfo{"decode", "none|crc|jpeg", "work of the CPU on every sample", what}, o.decode);
    visit(OptionInfo{"crc", "off|sampled|all",
                     "check records against the checksums that packed formats store, all or one in 64", what},
          o.crc);

    visit(OptionInfo{"engine", "NAME,...",
                     "auto, pread, mmap, uring or uring-direct: any of them reads any format; native: the format's own "
                     "library or a reader of ours without index (none for files), and what is compressed; a comma list "
                     "or `all` measures one after the other",
                     reading},
          o.engines);
    visit(OptionInfo{"queue-depth", "N", "reads in flight, over all threads", reading, "by engine"}, o.queue_depth);
    visit(OptionInfo{"threads", "N", "reader threads", reading, "by engine"}, o.threads);
    visit(OptionInfo{"slots", "N", "batches in flight between storage and accelerator; 2 is double buffering", reading},
          o.slots);
    visit(OptionInfo{"io-timeout", "TIME", "a read that hangs for longer fails with its file's name (ms, s)", reading,
                     "none"},
          o.io_timeout_ns);
    visit(OptionInfo{"on-error", "stop|skip", "what to do with a sample that cannot be read", reading}, o.on_error);
    visit(OptionInfo{"index-cache", "auto|off|DIR",
                     "where indexes of packed datasets are kept, so that the next run need not make them; auto: "
                     "~/.cache/feedline, those that took over 1 s",
                     reading},
          o.index_cache);
    visit(OptionInfo{"cache", "cold|warm|as-is", "state of the page cache before each epoch", reading}, o.cache);
    visit(OptionInfo{"drop-caches", "", "with --cache cold: drop the machine's whole cache, metadata included (root)",
                     reading},
          o.drop_caches);

    visit(OptionInfo{"device", "auto|cuda|emulated", "accelerator; auto is cuda where there is one", accelerator},
          o.device);
    visit(OptionInfo{"accelerators", "N", "accelerators fed by one loader", accelerator}, o.accelerators);
    visit(OptionInfo{"step-kernel", "spin|gemm", "what a CUDA device computes in a step", accelerator}, o.step_kernel);
    visit(OptionInfo{"h2d-rate", "RATE", "emulated copy to the accelerator (GB/s)", accelerator}, o.h2d_rate);
    visit(OptionInfo{"h2d-latency", "TIME", "of each emulated copy (us)", accelerator, "0", true}, o.h2d_latency_ns);

    visit(OptionInfo{"epochs", "N", "passes over the dataset", run}, o.epochs);
    visit(OptionInfo{"rounds", "N", "repetitions of the whole measurement", run}, o.rounds);
    visit(OptionInfo{"steps", "N", "end each epoch after so many steps, of all accelerators together", run,
                     "the whole epoch"},
          o.steps);
    visit(OptionInfo{"duration", "TIME", "end each epoch after this time (s, m)", run, "none"}, o.duration_ns);
    visit(OptionInfo{"warmup-steps", "N", "steps, of all accelerators together, that the steady figures leave out", run,
                     "0", true},
          o.warmup_steps);
    visit(OptionInfo{"controls", "", "measure what the harness, the cache and the copy reach by themselves", run},
          o.controls);

    visit(OptionInfo{"json", "FILE", "write the result (feedline.result/1); - is standard output", output, "none"},
          o.json_file);
    visit(OptionInfo{"csv", "FILE", "write one line an epoch; - is standard output", output, "none"}, o.csv_file);
    visit(OptionInfo{"require", "EXPR",
                     "fail (exit 1) unless it holds, as in 'idle.fraction<=5%'; `help` lists what can be named; may "
                     "be repeated; with --cache cold, a run that was not cold fails too",
                     output, "none", false, true, list_figures},
          o.require);
    visit(OptionInfo{"no-progress", "", "no live progress on the terminal", output}, o.no_progress);
    visit(OptionInfo{"quiet", "", "print nothing but errors", output}, o.quiet);
}

// One option, ready for a command line. `set` throws Error{usage} that names the option.
struct OptionBinding {
    OptionInfo info;
    std::string help;  // with the default
    bool is_switch = false;
    bool negatable = false;  // a switch that is on by default: --no-NAME exists
    std::function<void(const std::string& text)> set;
};

// Bound to `options`, which must outlive them.
std::vector<OptionBinding> bind_options(BenchOptions& options);

// "NAME=PATH" or "PATH". NAME holds letters, digits and _.- only, so "./a=b" is a path.
DatasetArgument parse_dataset_argument(const std::string& text);

// Every option: times in seconds, rates in bytes a second, null where not given.
nlohmann::ordered_json config_json(const BenchOptions& options);

// What differs from the defaults, as one would type it: "--threads 2 --cache cold"; output options left out.
std::string changed_options(const BenchOptions& options);

}  // namespace feedline
