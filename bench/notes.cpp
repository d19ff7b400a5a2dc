#include "bench/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/bottleneck.h"
#include "core/units.h"

namespace feedline {
namespace {

std::string count(std::uint64_t number) {
    return format_count(static_cast<double>(number));
}

// "8 steps (2,000 samples in batches of 256)".
std::string whole_epoch(std::uint64_t batches, const Result& result, const BenchOptions& options) {
    const std::string share = options.world > 1 ? fmt::format(", shared by {} ranks", options.world) : "";
    return fmt::format("{} ({} in batches of {}{})", format_counted(batches, "step"),
                       format_counted(result.dataset.samples, "sample"), count(options.batch_size), share);
}

// What was asked for and is more than an epoch has.
void add_limits(std::vector<std::string>& notes, const Result& result, const EpochResult& epoch,
                const BenchOptions& options) {
    OrderOptions order;
    order.batch_size = options.batch_size;
    order.world = options.world;
    const std::uint64_t batches = Order(result.dataset.samples, order).batches();
    // Else the other limit ended it, as was asked for, too.
    if (epoch.steps != batches) return;
    if (options.steps > batches) {
        notes.push_back(fmt::format("--steps {}: an epoch has only {}, so no more were run", count(options.steps),
                                    whole_epoch(batches, result, options)));
    }
    if (options.duration_ns > 0 && epoch.seconds < to_seconds(options.duration_ns)) {
        notes.push_back(fmt::format(
            "--duration {}: the epoch was over after {}, for it has only {}", format_time(options.duration_ns),
            format_time(std::llround(epoch.seconds * kNanosecondsPerSecond)), whole_epoch(batches, result, options)));
    }
    if (!notes.empty()) notes.back() += "; more take a larger dataset, a smaller --batch-size or more --epochs";
}

}  // namespace

std::vector<std::string> epoch_notes(const Result& result, const BenchOptions& options) {
    std::vector<std::string> notes;
    const EpochResult* last = result.last_epoch();
    if (last == nullptr) return notes;
    add_limits(notes, result, *last, options);
    constexpr double kDriftWorthSaying = 0.05;
    // Of a few steps the verdict says that they are few, and halves of them say nothing.
    const bool long_enough = last->idle.steady_steps >= kFewSteps * std::max(1U, result.accelerators);
    if (long_enough && last->idle.drift && std::fabs(*last->idle.drift) > kDriftWorthSaying) {
        notes.push_back(fmt::format("not steady: the second half of the steps ran {} {} than the first",
                                    format_percent(std::fabs(*last->idle.drift)),
                                    *last->idle.drift > 0 ? "faster" : "slower"));
    }
    if (last->host_stall_seconds > 0) notes.push_back(host_stall_text(*last) + "; measure again");
    if (last->skipped_samples > 0) {
        std::string note = format_counted(last->skipped_samples, "sample") + " skipped";
        for (const Oddity& failure : last->failures) {
            note += fmt::format("; {} {}, first {}", failure.count, failure.kind, printable(failure.example));
        }
        notes.push_back(std::move(note));
    }
    if (options.decode == DecodeMode::crc) {
        notes.emplace_back(result.dataset.packed
                               ? "CRC32C was computed, and nothing compared: --crc compares what the format stores"
                               : "CRC32C was computed, and nothing compared: small files carry no checksum");
    }
    if (options.crc != CheckMode::off && !result.dataset.checksums) {
        notes.push_back(
            result.dataset.packed
                ? fmt::format("--crc checked no payload: {} stores no checksum of samples; what feedline pack "
                              "wrote is compared with its sidecars by feedline verify",
                              result.dataset.format)
                : "--crc checked nothing: small files carry no checksum");
    }
    const double largest = *std::max_element(last->idle.by_cause.ns.begin(), last->idle.by_cause.ns.end());
    if (last->steps_without_samples == 0 && last->idle.by_cause[Cause::other] > 0 &&
        last->idle.by_cause[Cause::other] == largest) {
        notes.emplace_back("most of the idle time could not be placed");
    }
    return notes;
}

}  // namespace feedline
