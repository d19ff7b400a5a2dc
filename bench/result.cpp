#include "bench/result.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace feedline {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json oddities_json(const std::vector<Oddity>& oddities) {
    Json list = Json::array();
    for (const Oddity& oddity : oddities) {
        list.push_back({{"kind", oddity.kind}, {"count", oddity.count}, {"example", printable(oddity.example)}});
    }
    return list;
}

Json lines_json(const std::vector<std::string>& lines) {
    Json list = Json::array();
    for (const std::string& line : lines) list.push_back(printable(line));
    return list;
}

// Seconds by cause.
Json causes_json(const Causes& causes) {
    Json json = Json::object();
    for (std::size_t i = 0; i < kCauses; ++i) {
        const auto cause = static_cast<Cause>(i);
        json[std::string(to_string(cause))] = causes[cause] * 1e-9;
    }
    return json;
}

Json idle_json(const IdleFigures& idle) {
    return {{"fraction", idle.fraction},
            {"seconds", idle.idle_ns * 1e-9},
            {"steady_fraction", or_null(idle.steady_fraction)},
            {"by_cause", causes_json(idle.by_cause)},
            {"steady_by_cause", causes_json(idle.steady_by_cause)},
            {"first_fill_seconds", idle.first_fill_ns * 1e-9},
            {"end_wait_seconds", idle.end_wait_ns * 1e-9},
            {"steady_steps", idle.steady_steps}};
}

Json cache_json(const CacheCertificate& cache) {
    return {{"verdict", cache.verdict},
            {"metadata", cache.metadata},
            {"resident_before", or_null(cache.resident_before)},
            {"device_bytes", or_null(cache.device_bytes)},
            {"logical_bytes", cache.logical_bytes},
            {"least_bytes", cache.least_bytes},
            {"witness", cache.witness},
            {"reason", cache.reason.empty() ? Json(nullptr) : Json(printable(cache.reason))}};
}

Json latency_json(const LatencyFigures& latency) {
    return {{"p50", latency.p50}, {"p90", latency.p90}, {"p99", latency.p99}, {"max", latency.max}};
}

Json requests_json(const EpochResult& epoch) {
    return {{"planned", epoch.planned_requests},
            {"planned_bytes", epoch.planned_bytes},
            {"device_reads", or_null(epoch.device_reads)},
            {"device_reads_per_sample", or_null(epoch.device_reads_per_sample())},
            {"syscalls", epoch.syscalls}};
}

Json control_json(const std::optional<ControlFigures>& control) {
    if (!control) return nullptr;
    Json json = {{"utilization", or_null(control->utilization)},
                 {"samples_per_second", or_null(control->samples_per_second)}};
    if (control->idle_by_cause) json["by_cause"] = causes_json(*control->idle_by_cause);
    if (!control->note.empty()) json["note"] = control->note;
    return json;
}

Json dataset_json(const Result& result) {
    const DatasetInfo& info = result.dataset;
    Json classes = Json::array();
    for (const ClassName& entry : info.classes) {
        classes.push_back({{"name", printable(entry.name)}, {"label", entry.label}, {"samples", entry.samples}});
    }
    return {{"path", printable(info.path)},
            {"format", info.format},
            {"layout", info.layout.empty() ? Json(nullptr) : Json(printable(info.layout))},
            {"samples", info.samples},
            {"shards", info.shards},
            {"bytes", info.bytes},
            {"lost_samples", info.lost_samples},
            {"fs_type", result.tier.fs_type},
            {"tier_kind", result.tier.tier_kind},
            {"device", printable(result.tier.device)},
            {"classes", std::move(classes)},
            {"oddities", oddities_json(info.oddities)}};
}

Json context_json(const Context& context) {
    return {{"feedline",
             {{"version", context.version},
              {"git", context.git},
              {"build_type", context.build_type},
              {"compiler", context.compiler},
              {"cuda", context.cuda}}},
            {"command", printable(context.command)},
            {"time", context.time},
            {"host",
             {{"cpu", context.cpu},
              {"cores", context.cores},
              {"memory_bytes", context.memory_bytes},
              {"kernel", context.kernel}}},
            {"fingerprint", context.fingerprint}};
}

}  // namespace

LatencyFigures latency_figures(const Histogram& histogram) {
    return {histogram.quantile(0.5), histogram.quantile(0.9), histogram.quantile(0.99), histogram.max()};
}

bool EpochResult::lacks_samples() const {
    constexpr double kMostThatMayBeMissing = 0.01;
    return static_cast<double>(missing_samples()) > kMostThatMayBeMissing * static_cast<double>(due_samples());
}

std::uint64_t EpochResult::lost_samples() const {
    return static_cast<std::uint64_t>(std::llround(lost_in_index * static_cast<double>(samples + skipped_samples)));
}

std::optional<double> EpochResult::device_reads_per_sample() const {
    if (!device_reads || samples == 0 || samples_read == 0) return std::nullopt;
    return static_cast<double>(*device_reads) / static_cast<double>(samples_read);
}

std::string_view to_string(RunStatus status) {
    switch (status) {
        case RunStatus::ok: return "ok";
        case RunStatus::partial: return "partial";
        case RunStatus::failed: return "failed";
    }
    return "failed";
}

std::string_view to_string(Bottleneck bottleneck) {
    switch (bottleneck) {
        case Bottleneck::storage: return "storage";
        case Bottleneck::cpu: return "cpu";
        case Bottleneck::h2d: return "h2d";
        case Bottleneck::accelerator: return "accelerator";
        case Bottleneck::harness: return "harness";
        case Bottleneck::unknown: return "unknown";
    }
    return "unknown";
}

const EpochResult* Result::last_epoch() const {
    const auto last = std::find_if(rounds.rbegin(), rounds.rend(), [](const auto& round) { return !round.empty(); });
    return last == rounds.rend() ? nullptr : &last->back();
}

bool Result::only_controls_missing() const {
    return !missing.empty() && std::find(missing.begin(), missing.end(), "epochs") == missing.end();
}

nlohmann::ordered_json to_json(const EpochResult& epoch) {
    return {
        {"seconds", epoch.seconds},
        {"samples", epoch.samples},
        {"bytes", epoch.bytes},
        {"samples_per_second", epoch.samples_per_second()},
        {"bytes_per_second", epoch.bytes_per_second()},
        {"idle", idle_json(epoch.idle)},
        {"utilization", {{"whole_epoch", 1 - epoch.idle.fraction}, {"mlperf", or_null(epoch.idle.mlperf_utilization)}}},
        {"cache", cache_json(epoch.cache)},
        {"slot_wait_seconds", epoch.slot_wait_seconds},
        {"oversleep_seconds", epoch.oversleep_seconds},
        {"host_stall_seconds", epoch.host_stall_seconds},
        {"h2d_bytes", epoch.h2d_bytes},
        {"padding_bytes", epoch.padding_bytes},
        {"latency_ns",
         {{"read", latency_json(epoch.read_latency_ns)}, {"batch", latency_json(epoch.batch_latency_ns)}}},
        {"cpu_seconds", epoch.cpu_seconds},
        {"max_rss_bytes", epoch.max_rss_bytes},
        {"samples_delivered_once", epoch.samples_delivered_once},
        {"skipped_samples", epoch.skipped_samples},
        {"failures", oddities_json(epoch.failures)},
        {"steps", epoch.steps},
        {"steps_without_samples", epoch.steps_without_samples},
        {"drift", or_null(epoch.idle.drift)},
        {"requests", requests_json(epoch)},
        {"partial", epoch.partial}};
}

nlohmann::ordered_json to_json(const Result& result) {
    Json rounds = Json::array();
    for (const std::vector<EpochResult>& round : result.rounds) {
        if (round.empty()) continue;
        Json entry = to_json(round.back());
        if (round.size() > 1) {
            Json earlier = Json::array();
            for (std::size_t i = 0; i + 1 < round.size(); ++i) earlier.push_back(to_json(round[i]));
            entry["epochs"] = std::move(earlier);
        }
        rounds.push_back(std::move(entry));
    }
    Json epochs = Json::array();
    if (!result.rounds.empty()) {
        for (const EpochResult& epoch : result.rounds.back()) epochs.push_back(to_json(epoch));
    }
    const EpochResult* last = result.last_epoch();
    Json json = {{"name", printable(result.name)}, {"status", to_string(result.status)}};
    if (!result.error.empty()) json["error"] = printable(result.error);
    json["notes"] = lines_json(result.notes);
    json["missed_requirements"] = lines_json(result.missed_requirements);
    json["unjudged_requirements"] = lines_json(result.unjudged_requirements);
    json["config"] = result.config;
    json["dataset"] = dataset_json(result);
    json["device"] = {{"kind", result.device_kind}, {"name", result.device_name}};
    json["epochs"] = std::move(epochs);
    json["rounds"] = std::move(rounds);
    json["requests"] = last == nullptr ? Json(nullptr) : requests_json(*last);
    json["controls"] = {{"null_storage", control_json(result.controls.null_storage)},
                        {"null_step", control_json(result.controls.null_step)},
                        {"warm", control_json(result.controls.warm)},
                        {"h2d", control_json(result.controls.h2d)},
                        {"serial", control_json(result.controls.serial)}};
    json["missing"] = result.missing;
    json["accelerators_sustained"] = or_null(result.accelerators_sustained);
    json["bottleneck"] = result.bottleneck == Bottleneck::unknown ? Json(nullptr) : Json(to_string(result.bottleneck));
    json["raw"] = {{"step_ns", result.step_ns}};
    return json;
}

nlohmann::ordered_json to_json(const ResultFile& file) {
    Json results = Json::array();
    for (const Result& result : file.results) results.push_back(to_json(result));
    Json skipped = Json::array();
    for (const Skipped& entry : file.skipped) {
        skipped.push_back({{"name", printable(entry.name)}, {"reason", printable(entry.reason)}});
    }
    return {{"schema", "feedline.result/1"},
            {"context", context_json(file.context)},
            {"results", std::move(results)},
            {"skipped", std::move(skipped)}};
}

std::string json_text(const ResultFile& file) {
    return to_json(file).dump(2) + "\n";
}

}  // namespace feedline
