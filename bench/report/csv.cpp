#include "bench/report/csv.h"

#include <fmt/format.h>

#include <optional>

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

template <typename T>
std::string or_empty(const std::optional<T>& value) {
    return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

std::string render_csv(const ResultFile& file) {
    std::string out =
        "name,status,round,epoch,seconds,samples,bytes,samples_per_second,bytes_per_second,idle_fraction,"
        "idle_steady_fraction";
    for (std::size_t i = 0; i < kCauses; ++i) out += fmt::format(",idle_{}_seconds", to_string(static_cast<Cause>(i)));
    out +=
        ",utilization_mlperf,cache_verdict,device_bytes,device_reads,read_p50_ns,read_p99_ns,cpu_seconds,bottleneck\n";
    for (const Result& result : file.results) {
        for (std::size_t r = 0; r < result.rounds.size(); ++r) {
            for (std::size_t e = 0; e < result.rounds[r].size(); ++e) {
                const EpochResult& epoch = result.rounds[r][e];
                out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}", csv_field(result.name), to_string(result.status),
                                   r + 1, e + 1, epoch.seconds, epoch.samples, epoch.bytes, epoch.samples_per_second(),
                                   epoch.bytes_per_second(), epoch.idle.fraction, or_empty(epoch.idle.steady_fraction));
                for (const double ns : epoch.idle.by_cause.ns) out += fmt::format(",{}", ns * 1e-9);
                out += fmt::format(",{},{},{},{},{},{},{},{}\n", or_empty(epoch.idle.mlperf_utilization),
                                   epoch.cache.verdict, or_empty(epoch.cache.device_bytes),
                                   or_empty(epoch.device_reads), epoch.read_latency_ns.p50, epoch.read_latency_ns.p99,
                                   epoch.cpu_seconds, to_string(result.bottleneck));
            }
        }
    }
    return out;
}

}  // namespace feedline
