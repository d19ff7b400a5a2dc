// One dataset, one engine, one set of accelerators, ready to run epochs: what measured epochs and controls share.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/coldness.h"
#include "bench/observer.h"
#include "bench/options.h"
#include "bench/pipeline.h"
#include "bench/result.h"
#include "core/interrupt.h"
#include "cuda/device.h"
#include "loaders/decode/decoder.h"
#include "loaders/loader.h"

namespace feedline {

// How one pass over the dataset is made.
struct Pass {
    std::string what;  // for the progress display; empty: none is shown
    EngineSelection engine;
    unsigned slots = 1;  // host slots over all accelerators, and device buffers of each
    Nanoseconds step_ns = 0;
    bool serial = false;
    bool replay = false;  // null storage
    bool wrap = false;    // begin again at the end; needs a limit
    std::uint64_t epoch = 0;
    Nanoseconds io_timeout_ns = 0;           // 0: the options'
    std::uint64_t max_steps = 0;             // 0: none
    Nanoseconds duration_ns = 0;             // 0: none
    std::shared_ptr<const Dataset> dataset;  // null: the workbench's, in its order; else this one, in sequence
};

struct PassFigures {
    EpochResult epoch;
    std::vector<Nanoseconds> step_ns;
};

class Workbench {
public:
    // `options` is in effect: batch size, step time, threads and queue depth are chosen. Makes devices and slab. Throws
    // Error{usage} when the slots do not fit memory, Error{unsupported} without a usable device.
    Workbench(std::shared_ptr<const Dataset> dataset, const BenchOptions& options, const EngineSelection& engine,
              DeviceKind device, const TierInfo& tier, BenchObserver& observer, const Interrupt& interrupt);

    // Brings the page cache into the state that was asked for and looks at it, for the next run(). Throws
    // Error{interrupted}, and Error{timeout} when the storage does not answer for `patience_ns`; 0: waits for ever.
    void prepare_cache(Nanoseconds patience_ns = 0);

    // Rethrows the first error of the data path. An interrupted pass returns what it has, marked partial.
    PassFigures run(const Pass& pass);

    // As a measured epoch is made.
    Pass measured_pass(std::uint64_t epoch) const;

    OrderOptions order_options(const Pass& pass) const;
    Order order_of(const Pass& pass) const;

    // Runs batches from elsewhere on devices of their own.
    EpochOutcome run_source(BatchSource& source, const Pass& pass);

    // What the devices of this pass are made from; `ordinal` below options().accelerators.
    DeviceOptions device_options(const Pass& pass, unsigned ordinal) const;

    const BenchOptions& options() const { return options_; }
    // How samples lie in the slab, which differs between direct and buffered reads.
    const Alignment& alignment() const { return engine_.alignment; }
    DeviceKind device_kind() const { return device_; }
    // How long the last prepare_cache() took.
    Nanoseconds prepare_time_ns() const { return prepare_time_ns_; }
    const std::shared_ptr<const Dataset>& dataset() const { return dataset_; }
    const std::shared_ptr<Slab>& slab() const { return slab_; }
    std::string device_name() const { return devices_.front()->name(); }
    std::uint64_t max_batch_bytes() const { return max_batch_bytes_; }
    void say(const std::string& what) const { observer_.working(what, 0, 0); }
    void announce(const std::string& line) const { observer_.announce(line); }
    // Throws Error{interrupted}.
    void check_interrupt() const;

    // A reading thread is stuck in the kernel and may still write into the slab: nothing more can be run here.
    bool stuck() const { return stuck_; }
    // What it is stuck in, where that is known: with an I/O timeout; and whether that is over.
    const std::optional<Error>& hung_read() const { return hung_read_; }
    bool hung_too_long() const { return hung_too_long_; }

private:
    StagingNeed planned_need() const;
    std::vector<std::unique_ptr<Device>> make_devices(const Pass& pass) const;
    std::span<const std::unique_ptr<Device>> devices_for(const Pass& pass,
                                                         std::vector<std::unique_ptr<Device>>& own) const;
    PipelineOptions pipeline_options(const Pass& pass, std::uint64_t steps) const;

    std::shared_ptr<const Dataset> dataset_;
    BenchOptions options_;
    EngineSelection engine_;
    DeviceKind device_;
    TierInfo tier_;
    BenchObserver& observer_;
    const Interrupt& interrupt_;

    std::unique_ptr<Clock> clock_;
    std::shared_ptr<Slab> slab_;                    // before the devices: it must outlive the copies from it
    std::vector<std::unique_ptr<Device>> devices_;  // of measured passes
    std::uint64_t max_batch_bytes_ = 0;
    std::shared_ptr<Decoder> decoder_;
    std::optional<double> resident_before_;
    Nanoseconds prepare_time_ns_ = 0;
    bool stuck_ = false;
    std::optional<Error> hung_read_;
    bool hung_too_long_ = false;
};

// Samples of the first `batches` batches, in their order.
std::vector<SampleId> first_samples(const Order& order, std::uint64_t batches);

// Chooses what was left open, for one dataset and engine. Notes say what was overridden or cut.
BenchOptions options_in_effect(const BenchOptions& options, const DatasetInfo& dataset, EngineKind engine,
                               std::vector<std::string>& notes);

}  // namespace feedline
