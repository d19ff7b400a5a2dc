#include "bench/workbench.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "bench/interruptible.h"
#include "core/descriptors.h"
#include "core/presets.h"
#include "core/units.h"

namespace feedline {
namespace {

// Cache preparation waits for storage, not for the CPU: more threads than cores pay on a network tier.
constexpr unsigned kCacheThreads = 16;
// Looking at a file's pages opens it, which warms its metadata; where the cache is to stay as it is, look at few.
constexpr std::uint64_t kResidencySampleAsIs = 1000;
constexpr std::uint64_t kResidencySample = 200'000;
// How long reads in flight may take to end after a pass: one that was cut, or that failed. A whole one leaves none.
constexpr Nanoseconds kFinishSlice = 50'000'000;
constexpr Nanoseconds kFinishPatience = 5 * kNanosecondsPerSecond;

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t max_rss_bytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::shared_ptr<Decoder> make_decoder(DecodeMode mode) {
    switch (mode) {
        case DecodeMode::none: return nullptr;
        case DecodeMode::crc: return make_crc_decoder();
        case DecodeMode::jpeg: return make_jpeg_decoder();
    }
    return nullptr;
}

// Of the samples in the first `batches` batches. `block_bytes`: the least that a read brings.
AskedBytes asked_bytes(const Dataset& dataset, const Order& order, std::uint64_t batches, std::uint64_t block_bytes) {
    const bool all = batches == order.batches() && order.samples() == dataset.size();
    const std::vector<SampleId> ids = all ? std::vector<SampleId>() : first_samples(order, batches);
    const auto in_blocks = [&](std::uint64_t bytes) {
        return all ? bytes_in_blocks(dataset, bytes) : bytes_in_blocks(dataset, ids, bytes);
    };
    const std::uint64_t pages = in_blocks(PageCount::kPageBytes);
    return {pages, block_bytes < PageCount::kPageBytes ? in_blocks(block_bytes) : pages};
}

bool synchronous(EngineKind kind) {
    return kind == EngineKind::pread || kind == EngineKind::mmap || kind == EngineKind::native;
}

}  // namespace

std::vector<SampleId> first_samples(const Order& order, std::uint64_t batches) {
    std::vector<SampleId> ids;
    for (std::uint64_t batch = 0; batch < std::min(batches, order.batches()); ++batch) {
        const std::size_t at = ids.size();
        ids.resize(at + order.batch_samples(batch));
        order.batch(batch, std::span(ids).subspan(at));
    }
    return ids;
}

BenchOptions options_in_effect(const BenchOptions& options, const DatasetInfo& dataset, EngineKind engine,
                               std::vector<std::string>& notes) {
    BenchOptions chosen = options;
    chosen.engines = {std::string(to_string(engine))};
    chosen.format = dataset.format;
    if (!options.workload.empty()) {
        const Preset& preset = find_preset(options.workload);
        if (!options.step_time_ns) {
            chosen.step_time_ns = preset.step_ns;
        } else if (*options.step_time_ns != preset.step_ns) {
            notes.push_back(fmt::format("a step of {} in place of {}'s {}", format_time(*options.step_time_ns),
                                        preset.name, format_time(preset.step_ns)));
        }
        if (options.batch_size == 0) {
            chosen.batch_size = preset.batch_size;
        } else if (options.batch_size != preset.batch_size) {
            notes.push_back(
                fmt::format("batches of {} in place of {}'s {}", options.batch_size, preset.name, preset.batch_size));
        }
        const double mean =
            static_cast<double>(dataset.bytes) / static_cast<double>(std::max<std::uint64_t>(dataset.samples, 1));
        constexpr double kSameSize = 0.05;
        if (std::fabs(mean / static_cast<double>(preset.record_bytes) - 1) > kSameSize) {
            notes.push_back(
                fmt::format("samples here are {} on average, {}'s are {}: its demand is met in samples, not "
                            "in bytes",
                            format_size(mean), preset.name, format_size(static_cast<double>(preset.record_bytes))));
        }
    }
    if (!chosen.step_time_ns) chosen.step_time_ns = 0;
    if (chosen.batch_size == 0) {
        chosen.batch_size = std::min(kDefaultBatchSize, std::max<std::uint64_t>(dataset.samples / options.world, 1));
    }

    // One ring a core: a buffered read is copied on the core that submits it. Synchronous engines have one read in
    // flight a thread, so there the depth is the number of threads.
    constexpr unsigned kUringDepth = 128;
    constexpr unsigned kSynchronousThreads = 16;
    if (synchronous(engine)) {
        if (options.threads == 0) {
            // Each has a file open.
            const auto files =
                static_cast<unsigned>(std::clamp<std::size_t>(descriptor_budget(), 1, kSynchronousThreads));
            chosen.threads = options.queue_depth > 0 ? options.queue_depth : files;
        }
        if (options.threads > 0 && options.queue_depth > options.threads) {
            notes.push_back(fmt::format("{} has one read in flight a thread: --queue-depth {} is {} here",
                                        to_string(engine), options.queue_depth, options.threads));
        }
        chosen.queue_depth = chosen.threads;
    } else {
        const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
        if (options.queue_depth == 0) {
            // Under a low limit of open files a ring takes fewer reads.
            const std::uint64_t most = std::uint64_t{max_engine_queue_depth(engine)} * std::max(options.threads, cores);
            chosen.queue_depth =
                std::max(static_cast<unsigned>(std::min<std::uint64_t>(kUringDepth, most)), options.threads);
        }
        if (options.threads == 0) chosen.threads = std::min(cores, chosen.queue_depth);
    }
    return chosen;
}

Workbench::Workbench(std::shared_ptr<const Dataset> dataset, const BenchOptions& options, const EngineSelection& engine,
                     DeviceKind device, const TierInfo& tier, BenchObserver& observer, const Interrupt& interrupt)
    : dataset_(std::move(dataset)),
      options_(options),
      engine_(engine),
      device_(device),
      tier_(tier),
      observer_(observer),
      interrupt_(interrupt),
      clock_(std::make_unique<MonotonicClock>()),
      decoder_(make_decoder(options.decode)) {
    observer_.working("planning", 0, 0);
    const StagingNeed need = planned_need();
    const std::uint64_t available = available_memory_bytes();
    const auto refuse = [&](double needed_bytes) {
        return Error(ErrorKind::usage,
                     fmt::format("{} of up to {} need {} of staging memory, and {} are left; {}",
                                 format_counted(options_.slots * std::uint64_t{options_.accelerators}, "slot"),
                                 format_size(static_cast<double>(need.max_batch_bytes)), format_size(needed_bytes),
                                 format_size(static_cast<double>(available)),
                                 options_.slots > 1 || options_.batch_size > 1
                                     ? "use a smaller --slots or --batch-size"
                                     : "no batch with its largest sample fits this machine"));
    };
    // More slots than an epoch has batches are not made; a number that could never be is a mistake all the same.
    const double all_bytes =
        static_cast<double>(options_.slots) * options_.accelerators * static_cast<double>(need.max_batch_bytes);
    const std::uint64_t batches = order_of(Pass{}).batches();
    if (options_.slots > batches && all_bytes > static_cast<double>(available)) throw refuse(all_bytes);
    if (need.slab_bytes > available) throw refuse(static_cast<double>(need.slab_bytes));
    max_batch_bytes_ = need.max_batch_bytes;
    devices_ = make_devices(measured_pass(0));
    observer_.working("making staging memory", 0, 0);
    slab_ = devices_.front()->make_slab(need.slab_bytes);
}

StagingNeed Workbench::planned_need() const {
    const OrderOptions base = order_options(measured_pass(0));
    StagingNeed most;
    // The warm control of direct reads is their buffered twin, so both layouts must fit.
    for (const Alignment& alignment : {engine_.alignment, Alignment{}}) {
        EngineSelection engine = engine_;
        engine.alignment = alignment;
        const PlanOptions plan = plan_options(engine, measured_pass(0).slots);
        const StagingNeed need = run_interruptibly(
            [held = dataset_, base, epochs = options_.epochs, plan] {
                const auto order_of = [&](std::uint64_t epoch) {
                    OrderOptions order = base;
                    order.epoch = epoch;
                    return Order(held->size(), order);
                };
                return staging_need(*held, order_of, epochs, plan);
            },
            interrupt_);
        most.slab_bytes = std::max(most.slab_bytes, need.slab_bytes);
        most.max_batch_bytes = std::max(most.max_batch_bytes, need.max_batch_bytes);
        if (!engine_.alignment.direct()) break;
    }
    return most;
}

Pass Workbench::measured_pass(std::uint64_t epoch) const {
    Pass pass;
    pass.engine = engine_;
    const std::uint64_t batches = order_of(Pass{}).batches();
    const std::uint64_t slots = std::uint64_t{options_.slots} * options_.accelerators;
    pass.slots = static_cast<unsigned>(std::min(slots, std::max<std::uint64_t>(batches, options_.accelerators)));
    pass.step_ns = options_.step_time_ns.value_or(0);
    pass.epoch = epoch;
    pass.max_steps = options_.steps;
    pass.duration_ns = options_.duration_ns;
    return pass;
}

void Workbench::check_interrupt() const {
    if (interrupt_.requested()) throw Error(ErrorKind::interrupted, "interrupted");
}

DeviceOptions Workbench::device_options(const Pass& pass, unsigned ordinal) const {
    DeviceOptions device;
    device.kind = device_;
    device.ordinal = static_cast<int>(ordinal);
    device.slots = std::max(pass.slots / options_.accelerators, 1U);
    device.step_ns = pass.step_ns;
    device.step_kernel = options_.step_kernel;
    device.serial = pass.serial;
    device.h2d_bytes_per_second = options_.h2d_rate;
    device.h2d_latency_ns = options_.h2d_latency_ns;
    return device;
}

std::vector<std::unique_ptr<Device>> Workbench::make_devices(const Pass& pass) const {
    std::vector<std::unique_ptr<Device>> devices;
    for (unsigned i = 0; i < options_.accelerators; ++i) {
        const DeviceOptions device = device_options(pass, i);
        devices.push_back(device_ == DeviceKind::cuda ? make_cuda_device(device)
                                                      : make_emulated_device(device, *clock_));
    }
    return devices;
}

std::span<const std::unique_ptr<Device>> Workbench::devices_for(const Pass& pass,
                                                                std::vector<std::unique_ptr<Device>>& own) const {
    const Pass measured = measured_pass(0);
    if (pass.step_ns == measured.step_ns && pass.slots == measured.slots && !pass.serial) return devices_;
    own = make_devices(pass);
    return own;
}

OrderOptions Workbench::order_options(const Pass& pass) const {
    OrderOptions order;
    order.batch_size = options_.batch_size;
    if (pass.dataset) {
        order.mode = OrderMode::sequential;
        return order;
    }
    order.mode = options_.order;
    order.seed = options_.seed;
    order.epoch = pass.epoch;
    order.rank = options_.rank;
    order.world = options_.world;
    return order;
}

Order Workbench::order_of(const Pass& pass) const {
    return Order(pass.dataset ? pass.dataset->size() : dataset_->size(), order_options(pass));
}

PipelineOptions Workbench::pipeline_options(const Pass& pass, std::uint64_t steps) const {
    PipelineOptions pipeline;
    pipeline.max_steps = pass.max_steps;
    pipeline.duration_ns = pass.duration_ns;
    pipeline.warmup_steps = options_.warmup_steps;
    pipeline.max_batch_bytes = max_batch_bytes_;
    if (!pass.what.empty()) {
        pipeline.progress = [this, what = pass.what, goal = Goal{steps, pass.duration_ns}](const Progress& progress) {
            observer_.measuring(what, progress, goal);
        };
    }
    return pipeline;
}

void Workbench::prepare_cache(Nanoseconds patience_ns) {
    struct Counts {
        std::atomic<std::uint64_t> done{0};
        std::atomic<std::uint64_t> total{0};
    };
    const auto counts = std::make_shared<Counts>();
    const CacheProgressFn progress = [counts](const CacheProgress& now) {
        counts->done = now.done;
        counts->total = now.total;
    };
    const auto tick = [&](const char* what) {
        return [this, what, counts] { observer_.working(what, counts->done, counts->total); };
    };
    const Interrupt* interrupt = &interrupt_;
    const auto wait_for = [&](auto work, const char* what) {
        try {
            return run_interruptibly(std::move(work), interrupt_, tick(what), patience_ns);
        } catch (const Error& error) {
            stuck_ |= error.kind() == ErrorKind::timeout;
            throw;
        }
    };
    const Nanoseconds begun_ns = now_ns();
    std::uint64_t limit = kResidencySampleAsIs;
    if (options_.cache == CacheMode::cold) {
        wait_for([held = dataset_, progress, interrupt] { return evict(*held, kCacheThreads, progress, *interrupt); },
                 "evicting the dataset from the page cache");
        limit = kResidencySample;
    } else if (options_.cache == CacheMode::warm) {
        wait_for(
            [held = dataset_, progress, interrupt] {
                warm_up(*held, kCacheThreads, progress, *interrupt);
                return true;
            },
            "reading the dataset into the page cache");
        limit = kResidencySample;
    }
    resident_before_ = wait_for([held = dataset_, limit] { return resident_fraction(*held, kCacheThreads, limit); },
                                "looking at the page cache");
    // Last, because looking at pages brings metadata back.
    if (options_.drop_caches) {
        wait_for(
            [] {
                drop_caches();
                return true;
            },
            "dropping the machine's caches");
    }
    prepare_time_ns_ = now_ns() - begun_ns;
}

EpochOutcome Workbench::run_source(BatchSource& source, const Pass& pass) {
    std::vector<std::unique_ptr<Device>> own;
    return run_epoch(source, devices_for(pass, own), pipeline_options(pass, pass.max_steps), nullptr, interrupt_);
}

PassFigures Workbench::run(const Pass& pass) {
    check_interrupt();
    const std::shared_ptr<const Dataset> dataset = pass.dataset ? pass.dataset : dataset_;
    const Order order = order_of(pass);
    const std::uint64_t limit = pass.max_steps > 0 ? pass.max_steps : std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t due = pass.wrap ? limit : std::min(limit, order.batches());
    LoaderOptions loading;
    loading.engine = pass.engine;
    loading.threads = options_.threads;
    loading.queue_depth = options_.queue_depth;
    loading.slots = pass.slots;
    loading.on_error = options_.on_error;
    loading.io_timeout_ns = options_.io_timeout_ns > 0 ? options_.io_timeout_ns : pass.io_timeout_ns;
    loading.max_batches = due;
    loading.wrap = pass.wrap;
    loading.replay = pass.replay;

    std::vector<std::unique_ptr<Device>> own;
    const std::span<const std::unique_ptr<Device>> devices = devices_for(pass, own);
    DeliveryAudit audit(dataset->size());
    const bool auditable = !pass.wrap && !pass.replay;

    const DeviceCounters before = device_counters(tier_);
    const double cpu_before = cpu_seconds();
    Loader loader(dataset, order, slab_, record_decoder(dataset, options_.crc, decoder_), loading);
    // Whatever happens, know whether a reader is left behind: it may still write into the slab.
    const auto settle = [&](Nanoseconds patience) {
        for (Nanoseconds waited = 0; waited < patience; waited += kFinishSlice) {
            if (loader.finish(kFinishSlice)) return;
            hung_read_ = loader.hung_read(loading.io_timeout_ns);
            if (interrupt_.requested() || hung_read_) break;
        }
        stuck_ = !loader.finish(0);
        hung_too_long_ = stuck_ && hung_read_;
        if (!hung_too_long_) hung_read_ = stuck_ ? loader.hung_read(0) : std::nullopt;
    };
    EpochOutcome outcome;
    try {
        outcome = run_epoch(loader, devices, pipeline_options(pass, pass.wrap ? pass.max_steps : due),
                            auditable ? &audit : nullptr, interrupt_);
    } catch (const Error& error) {
        // What has hung for its time limit already is not waited for again.
        settle(error.kind() == ErrorKind::timeout ? kFinishSlice : kFinishPatience);
        throw;
    } catch (...) {
        settle(kFinishPatience);
        throw;
    }
    settle(kFinishPatience);
    const double cpu_after = cpu_seconds();
    const DeviceCounters after = device_counters(tier_);
    const LoaderStats stats = loader.stats();

    PassFigures figures;
    EpochResult& epoch = figures.epoch;
    epoch.seconds = to_seconds(outcome.idle.t1_ns - outcome.idle.t0_ns);
    epoch.samples = outcome.samples;
    epoch.skipped_samples = outcome.skipped_samples;
    epoch.lost_in_index =
        static_cast<double>(dataset->info().lost_samples) / static_cast<double>(dataset->info().samples);
    epoch.bytes = outcome.payload_bytes;
    epoch.steps = outcome.steps;
    epoch.steps_without_samples = outcome.steps_without_samples;
    epoch.idle = outcome.idle;
    epoch.failures = std::move(outcome.failures);
    epoch.slot_wait_seconds = to_seconds(stats.slot_wait_ns);
    epoch.oversleep_seconds = to_seconds(outcome.oversleep_ns + stats.oversleep_ns);
    epoch.host_stall_seconds = to_seconds(outcome.host_stall_ns);
    epoch.h2d_bytes = outcome.h2d_bytes;
    epoch.padding_bytes = outcome.padding_bytes;
    epoch.read_latency_ns = latency_figures(stats.read_latency_ns);
    epoch.batch_latency_ns = latency_figures(stats.batch_latency_ns);
    epoch.cpu_seconds = cpu_after - cpu_before;
    epoch.max_rss_bytes = max_rss_bytes();
    epoch.planned_requests = stats.planned_requests;
    epoch.planned_bytes = stats.planned_bytes;
    epoch.samples_read = stats.delivered_samples;
    epoch.syscalls = stats.engine.syscalls;
    epoch.partial = outcome.partial;
    epoch.device_reads = own_device_reads(before, after);
    if (auditable) {
        // What was handed to the devices was read and delivered, though a cut leaves its last steps out of the figures.
        const std::uint64_t batches = outcome.handed_over_batches;
        std::uint64_t expected = 0;
        for (std::uint64_t batch = 0; batch < std::min(batches, order.batches()); ++batch) {
            expected += order.batch_samples(batch);
        }
        const bool complete = outcome.partial || pass.duration_ns > 0 || batches == due;
        epoch.samples_delivered_once = complete && audit.once(expected);
        const Alignment& alignment = pass.engine.alignment;
        const std::uint64_t block_bytes = alignment.direct() ? alignment.offset_bytes : tier_.block_bytes;
        epoch.cache = certify(tier_, {.resident_before = resident_before_,
                                      .before = before,
                                      .after = after,
                                      .asked = asked_bytes(*dataset, order, batches, block_bytes),
                                      .direct = alignment.direct(),
                                      .metadata_dropped = options_.drop_caches});
    }
    figures.step_ns = std::move(outcome.step_ns);
    return figures;
}

}  // namespace feedline
