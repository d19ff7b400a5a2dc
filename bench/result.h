// The result of a run, and the only place that knows its JSON form, schema "feedline.result/1".
//
// An absent figure (nullopt) is written as null: "could not be seen" is not 0. Fractions are 0 to 1, bytes and seconds
// plain numbers.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/coldness.h"
#include "bench/timeline.h"
#include "core/histogram.h"

namespace feedline {

struct LatencyFigures {
    std::int64_t p50 = 0;
    std::int64_t p90 = 0;
    std::int64_t p99 = 0;
    std::int64_t max = 0;
};
LatencyFigures latency_figures(const Histogram& histogram);

struct EpochResult {
    double seconds = 0;  // T1 - T0
    std::uint64_t samples = 0;
    std::uint64_t skipped_samples = 0;
    double lost_in_index = 0;  // samples in no index (DatasetInfo::lost_samples) for each one that is
    std::uint64_t bytes = 0;
    std::uint64_t steps = 0;
    std::uint64_t steps_without_samples = 0;  // every sample of their batch was skipped: idle time
    IdleFigures idle;
    CacheCertificate cache;
    std::vector<Oddity> failures;  // with --on-error skip: what was skipped, by kind
    double slot_wait_seconds = 0;
    double oversleep_seconds = 0;
    double host_stall_seconds = 0;  // for which this process did not run at all, at least
    std::uint64_t h2d_bytes = 0;
    std::uint64_t padding_bytes = 0;
    LatencyFigures read_latency_ns;
    LatencyFigures batch_latency_ns;
    double cpu_seconds = 0;
    std::uint64_t max_rss_bytes = 0;
    bool samples_delivered_once = false;
    std::uint64_t planned_requests = 0;
    std::uint64_t planned_bytes = 0;
    std::uint64_t samples_read = 0;  // delivered by the loader: `samples`, and with a cut those of steps that lay ahead
    std::optional<std::uint64_t> device_reads;
    std::uint64_t syscalls = 0;
    bool partial = false;

    // Whether a step was over. Otherwise the epoch was cut before, and has no figure that could be judged.
    bool measured() const { return steps > 0; }
    // Its share of the samples that the dataset lost while it was indexed, and all that it did not deliver, of all that
    // it should have.
    std::uint64_t lost_samples() const;
    std::uint64_t missing_samples() const { return skipped_samples + lost_samples(); }
    std::uint64_t due_samples() const { return samples + missing_samples(); }
    // Whether so many of its samples are missing that its times say nothing about feeding all of them.
    bool lacks_samples() const;
    std::optional<double> device_reads_per_sample() const;
    double samples_per_second() const { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }
    double bytes_per_second() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

struct ControlFigures {
    std::optional<double> utilization;         // steady, at the run's step time; null at step time 0
    std::optional<double> samples_per_second;  // at step time 0
    std::string note;                          // why it is absent or special; may be empty
    // Where its own idle time went, at the run's step time, without the first fill; at step time 0 all of its time.
    std::optional<Causes> idle_by_cause{};
    bool other_cache = false;  // it found another cache than the measured epoch, as its note says
};

struct Controls {
    std::optional<ControlFigures> null_storage;
    std::optional<ControlFigures> null_step;
    std::optional<ControlFigures> warm;
    std::optional<ControlFigures> h2d;
    std::optional<ControlFigures> serial;
};

enum class RunStatus { ok, partial, failed };
enum class Bottleneck { storage, cpu, h2d, accelerator, harness, unknown };
std::string_view to_string(RunStatus status);
std::string_view to_string(Bottleneck bottleneck);

// One tier x format x engine x workload.
struct Result {
    std::string name;  // "<tier>/<format>/<engine>/<workload>"
    std::string tier_name;
    std::string engine;    // in effect
    std::string workload;  // preset, "custom" (a step time of the user's), or "rate" (step time 0)
    RunStatus status = RunStatus::ok;
    std::string error;                               // of a failed one: the line that was printed
    nlohmann::ordered_json config;                   // every option in effect
    std::vector<std::string> notes;                  // fallbacks and warnings, each one sentence
    std::vector<std::string> missed_requirements;    // missed(); empty as well where nothing was required, or judged
    std::vector<std::string> unjudged_requirements;  // unjudged(); the same
    DatasetInfo dataset;
    bool extents = true;  // its samples lie in their files as they are: any engine reads them
    TierInfo tier;
    std::string device_kind;  // "cuda" | "emulated"
    std::string device_name;
    std::uint64_t batch_size = 0;
    double step_seconds = 0;
    unsigned accelerators = 1;
    std::vector<std::vector<EpochResult>> rounds;  // the epochs of each repetition; one that failed may be empty
    Controls controls;
    // What an interrupt left out, as it is called in the JSON: "epochs", "controls.warm".
    std::vector<std::string> missing;
    std::optional<double> accelerators_sustained;
    Bottleneck bottleneck = Bottleneck::unknown;
    std::vector<std::int64_t> step_ns;  // raw, of the last epoch: e_i - e_{i-1} of every step that counts

    const EpochResult* last_epoch() const;  // nullptr when none was measured
    // Interrupted, but after the last epoch: every measured figure is whole.
    bool only_controls_missing() const;
};

struct Skipped {
    std::string name;
    std::string reason;
    bool expected = true;  // whoever reads the report would have looked for it; the JSON names all
};

struct Context {
    std::string version;
    std::string git;
    std::string build_type;
    std::string compiler;
    std::string cuda;     // "13.0" or "off"
    std::string command;  // as typed
    std::string time;     // ISO 8601, UTC
    std::string cpu;
    unsigned cores = 0;
    std::uint64_t memory_bytes = 0;
    std::string kernel;
    std::string fingerprint;  // hash of what must match for figures to be comparable
};

struct ResultFile {
    Context context;
    std::vector<Result> results;
    std::vector<Skipped> skipped;
};

// `epochs` holds the epochs of the last repetition; `rounds` one entry for each repetition, its last epoch, with the
// earlier ones in that entry's own `epochs` when there are any.
nlohmann::ordered_json to_json(const ResultFile& file);
nlohmann::ordered_json to_json(const Result& result);
nlohmann::ordered_json to_json(const EpochResult& epoch);

// The JSON as it is written, with a newline at its end.
std::string json_text(const ResultFile& file);

}  // namespace feedline
