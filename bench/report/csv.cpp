#include "bench/report/csv.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"

namespace feedline {
namespace {

// RFC 4180: quoted where it must be.
std::string csv_field(std::string_view text) {
    std::string plain = printable(text);
    if (plain.find_first_of(",\"") == std::string::npos) return plain;
    std::string out = "\"";
    for (const char c : plain) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

// One line, as names and fields; all lines have the same names, whatever was measured.
class Line {
public:
    template <typename T>
    void add(std::string name, const T& value) {
        if constexpr (std::is_convertible_v<T, std::string_view>) {
            fields_.emplace_back(std::move(name), csv_field(value));
        } else {
            fields_.emplace_back(std::move(name), fmt::format("{}", value));
        }
    }
    template <typename T>
    void add(std::string name, const std::optional<T>& value) {
        if (value) {
            add(std::move(name), *value);
        } else {
            fields_.emplace_back(std::move(name), "");
        }
    }
    // What `value` gives of an epoch, or an empty field where there is none.
    template <typename Value>
    void add_of(const EpochResult* epoch, std::string name, Value value) {
        if (epoch != nullptr) {
            add(std::move(name), value(*epoch));
        } else {
            fields_.emplace_back(std::move(name), "");
        }
    }

    std::string names() const {
        return joined([](const auto& field) -> const std::string& { return field.first; });
    }
    std::string values() const {
        return joined([](const auto& field) -> const std::string& { return field.second; });
    }

private:
    template <typename Part>
    std::string joined(Part part) const {
        std::string out;
        for (const auto& field : fields_) out += (&field == fields_.data() ? "" : ",") + part(field);
        return out + "\n";
    }

    std::vector<std::pair<std::string, std::string>> fields_;
};

// An option in effect: a number or a word, empty where it is not set.
std::string option(const Result& result, const char* name) {
    if (!result.config.is_object() || !result.config.contains(name)) return {};
    const auto& value = result.config[name];
    if (value.is_null()) return {};
    return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_what(Line& line, const Result& result) {
    line.add("name", result.name);
    line.add("status", to_string(result.status));
    line.add("tier", result.tier_name);
    line.add("path", result.dataset.path);
    line.add("format", result.dataset.format);
    line.add("fs_type", result.tier.fs_type);
    line.add("tier_kind", result.tier.tier_kind);
    line.add("dataset_samples", result.dataset.samples);
    line.add("dataset_bytes", result.dataset.bytes);
    line.add("engine", result.engine);
    line.add("workload", result.workload);
    line.add("device", result.device_kind);
    line.add("accelerators", result.accelerators);
    line.add("batch_size", result.batch_size);
    line.add("step_seconds", result.step_seconds);
    for (const char* name : {"queue_depth", "threads", "slots", "order", "rank", "world", "decode"}) {
        line.add(name, option(result, name));
    }
    line.add("cache_asked", option(result, "cache"));
}

void add_figures(Line& line, const EpochResult* epoch) {
    using E = const EpochResult&;
    line.add_of(epoch, "partial", [](E e) { return e.partial; });
    line.add_of(epoch, "seconds", [](E e) { return e.seconds; });
    line.add_of(epoch, "steps", [](E e) { return e.steps; });
    line.add_of(epoch, "steps_without_samples", [](E e) { return e.steps_without_samples; });
    line.add_of(epoch, "samples", [](E e) { return e.samples; });
    line.add_of(epoch, "skipped_samples", [](E e) { return e.skipped_samples; });
    line.add_of(epoch, "bytes", [](E e) { return e.bytes; });
    line.add_of(epoch, "samples_per_second", [](E e) { return e.samples_per_second(); });
    line.add_of(epoch, "bytes_per_second", [](E e) { return e.bytes_per_second(); });
    line.add_of(epoch, "idle_fraction", [](E e) { return e.idle.fraction; });
    line.add_of(epoch, "idle_seconds", [](E e) { return e.idle.idle_ns * 1e-9; });
    line.add_of(epoch, "idle_steady_fraction", [](E e) { return e.idle.steady_fraction; });
    for (std::size_t i = 0; i < kCauses; ++i) {
        const auto cause = static_cast<Cause>(i);
        line.add_of(epoch, fmt::format("idle_{}_seconds", to_string(cause)),
                    [&](E e) { return e.idle.by_cause[cause] * 1e-9; });
    }
    line.add_of(epoch, "utilization_mlperf", [](E e) { return e.idle.mlperf_utilization; });
    line.add_of(epoch, "cache_verdict", [](E e) { return e.cache.verdict; });
    line.add_of(epoch, "metadata_verdict", [](E e) { return e.cache.metadata; });
    line.add_of(epoch, "resident_before", [](E e) { return e.cache.resident_before; });
    line.add_of(epoch, "device_bytes", [](E e) { return e.cache.device_bytes; });
    line.add_of(epoch, "device_reads", [](E e) { return e.device_reads; });
    line.add_of(epoch, "read_p50_ns", [](E e) { return e.read_latency_ns.p50; });
    line.add_of(epoch, "read_p90_ns", [](E e) { return e.read_latency_ns.p90; });
    line.add_of(epoch, "read_p99_ns", [](E e) { return e.read_latency_ns.p99; });
    line.add_of(epoch, "read_max_ns", [](E e) { return e.read_latency_ns.max; });
    line.add_of(epoch, "cpu_seconds", [](E e) { return e.cpu_seconds; });
}

// `round` and `number` count from 1; `epoch` null: nothing was measured.
Line line_of(const Result& result, std::size_t round, std::size_t number, const EpochResult* epoch) {
    Line line;
    add_what(line, result);
    line.add_of(epoch, "round", [&](const EpochResult&) { return round; });
    line.add_of(epoch, "epoch", [&](const EpochResult&) { return number; });
    add_figures(line, epoch);
    line.add("accelerators_sustained", result.accelerators_sustained);
    line.add("bottleneck", result.bottleneck == Bottleneck::unknown ? "" : to_string(result.bottleneck));
    line.add("error", result.error);
    return line;
}

}  // namespace

std::string render_csv(const ResultFile& file) {
    std::string out = line_of(Result{}, 0, 0, nullptr).names();
    for (const Result& result : file.results) {
        if (result.last_epoch() == nullptr) out += line_of(result, 0, 0, nullptr).values();
        for (std::size_t r = 0; r < result.rounds.size(); ++r) {
            for (std::size_t e = 0; e < result.rounds[r].size(); ++e) {
                out += line_of(result, r + 1, e + 1, &result.rounds[r][e]).values();
            }
        }
    }
    return out;
}

}  // namespace feedline
