// The result of a run, and the only place that knows its JSON form, schema "feedline.result/1".
//
// An absent figure (nullopt) is written as null: "could not be seen" is not 0. Fractions are 0 to 1, bytes and seconds
// plain numbers.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/coldness.h"
#include "bench/timeline.h"

namespace feedline {

struct LatencyFigures {
    std::int64_t p50 = 0;
    std::int64_t p90 = 0;
    std::int64_t p99 = 0;
    std::int64_t max = 0;
};

struct EpochResult {
    double seconds = 0;  // T1 - T0
    std::uint64_t samples = 0;
    std::uint64_t skipped_samples = 0;
    std::uint64_t bytes = 0;
    std::uint64_t steps = 0;
    IdleFigures idle;
    CacheCertificate cache;
    std::vector<Oddity> failures;  // with --on-error skip: what was skipped, by kind
    double slot_wait_seconds = 0;
    double oversleep_seconds = 0;
    std::uint64_t h2d_bytes = 0;
    std::uint64_t padding_bytes = 0;
    LatencyFigures read_latency_ns;
    LatencyFigures batch_latency_ns;
    double cpu_seconds = 0;
    std::uint64_t max_rss_bytes = 0;
    bool samples_delivered_once = false;
    std::uint64_t planned_requests = 0;
    std::uint64_t planned_bytes = 0;
    std::optional<std::uint64_t> device_reads;
    std::uint64_t syscalls = 0;
    bool partial = false;
};

struct ControlFigures {
    std::optional<double> utilization;         // steady, at the run's step time; null at step time 0
    std::optional<double> samples_per_second;  // at step time 0
    std::string note;                          // why it is absent or special; may be empty
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
    RunStatus status = RunStatus::ok;
    std::string error;               // of a failed one: the line that was printed
    nlohmann::ordered_json config;   // every option in effect
    std::string engine;              // in effect
    std::vector<std::string> notes;  // fallbacks and warnings, each one sentence
    DatasetInfo dataset;
    TierInfo tier;
    std::string device_kind;  // "cuda" | "emulated"
    std::string device_name;
    std::uint64_t batch_size = 0;
    double step_seconds = 0;
    std::uint64_t accelerators = 1;
    std::vector<EpochResult> epochs;
    std::vector<std::vector<EpochResult>>
        rounds;  // the epochs of each repetition after the first; empty with --rounds 1
    Controls controls;
    std::optional<double> accelerators_sustained;
    Bottleneck bottleneck = Bottleneck::unknown;
    std::vector<std::uint32_t> step_ns;  // raw, of the last epoch
};

struct Skipped {
    std::string name;
    std::string reason;
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
Context make_context(const std::string& command);

struct ResultFile {
    Context context;
    std::vector<Result> results;
    std::vector<Skipped> skipped;
};

nlohmann::ordered_json to_json(const ResultFile& file);
nlohmann::ordered_json to_json(const Result& result);

// Writes atomically (temporary name, fsync, rename). Throws Error{io, out_of_space} naming the file.
void write_json(const ResultFile& file, const std::string& path);

// The bottleneck by the rule of bench/README.md, from the last epoch and the controls:
// accelerator if idle is below 2 %; else harness if the null-storage idle is over half of the measured; else h2d if
// that cause is the largest; else storage if the warm idle is below half of the measured; else cpu. At step time 0
// rates take the place of idle (a factor of 1.1 counts as a difference).
Bottleneck find_bottleneck(const Result& result);

// One sentence for a person: what holds the accelerators up, by which figure, and the next thing to try.
std::string explain(const Result& result);

}  // namespace feedline
