#include "loaders/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/units.h"
#include "loaders/ring.h"

namespace feedline {
namespace {

// Located at once: enough for the index to hide its cache misses, few enough to stay in the first-level cache.
constexpr std::size_t kPiece = 256;

// Above so many samples staging_need() does not visit them all: a few seconds of planning for nothing but a tight fit.
constexpr std::uint64_t kExactSamples = 20'000'000;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

std::uint64_t end_of(const Extent& extent) {
    return extent.offset_bytes + extent.length_bytes;
}

// Whether `next` follows `before` in its shard and may be read with it.
bool follows(const Extent& before, const Extent& next, const PlanOptions& options) {
    return !options.one_by_one && next.shard == before.shard && next.offset_bytes >= end_of(before) &&
           next.offset_bytes - end_of(before) <= options.gap_bytes &&
           std::max(before.length_bytes, next.length_bytes) < options.run_bytes;
}

// Calls each(first record, records, extent of the whole) for the runs that a batch's records make, in their order.
template <typename Each>
void for_each_run(std::span<const Extent> records, const PlanOptions& options, const Each& each) {
    std::size_t first = 0;
    while (first < records.size()) {
        // All that follows each other...
        std::size_t end = first + 1;
        while (end < records.size() && follows(records[end - 1], records[end], options)) ++end;
        // ...in as few runs as the limit allows, of about one length: no short one at the end.
        const std::uint64_t total = end_of(records[end - 1]) - records[first].offset_bytes;
        const std::uint64_t wanted =
            end - first == 1 ? 0 : total / (total / std::max<std::uint64_t>(options.run_bytes, 1) + 1);
        while (first < end) {
            const std::size_t begin = first;
            Extent run = records[first++];
            while (first < end && run.length_bytes < wanted) {
                const std::uint64_t longer = end_of(records[first]) - run.offset_bytes;
                if (longer > options.run_bytes) break;
                run.length_bytes = longer;
                ++first;
            }
            each(begin, first - begin, run);
        }
    }
}

// Length of the span of one batch, as BatchPlanner lays it out.
std::uint64_t span_length(std::span<const Extent> records, const PlanOptions& options) {
    std::uint64_t bytes = 0;
    for_each_run(records, options, [&](std::size_t, std::size_t, const Extent& run) {
        bytes = round_up(bytes, start_alignment(options.alignment)) + footprint(options.alignment, run).capacity_bytes;
    });
    return bytes;
}

// Lengths of all batches of one epoch.
std::vector<std::uint64_t> span_lengths(const Dataset& dataset, const Order& order, const PlanOptions& options) {
    std::vector<std::uint64_t> lengths;
    lengths.reserve(order.batches());
    std::vector<SampleId> ids;
    std::vector<Extent> extents;
    std::uint64_t batch = 0;
    while (batch < order.batches()) {
        // Small batches are located together.
        ids.clear();
        const std::uint64_t first = batch;
        do {
            const std::size_t before = ids.size();
            ids.resize(before + order.batch_samples(batch));
            order.batch(batch, std::span(ids).subspan(before));
            ++batch;
        } while (batch < order.batches() && ids.size() + order.batch_samples(batch) <= kPiece);
        extents.resize(ids.size());
        dataset.locate(ids, extents);
        std::size_t at = 0;
        for (std::uint64_t i = first; i < batch; ++i) {
            const std::size_t count = order.batch_samples(i);
            lengths.push_back(span_length(std::span(extents).subspan(at, count), options));
            at += count;
        }
    }
    return lengths;
}

// The longest that the record of `length_bytes` can make a batch's span grow by.
std::uint64_t worst_footprint(const PlanOptions& options, std::uint64_t length_bytes) {
    // A direct read pads most when the record begins with the last byte of a block.
    const Extent worst{options.alignment.offset_bytes - 1, length_bytes, 0};
    return round_up(footprint(options.alignment, worst).capacity_bytes, start_alignment(options.alignment)) +
           (options.one_by_one ? 0 : options.gap_bytes);
}

}  // namespace

std::uint64_t start_alignment(const Alignment& alignment) {
    constexpr std::uint64_t kLineBytes = 64;
    return std::max<std::uint64_t>(kLineBytes, alignment.memory_bytes);
}

PlanOptions plan_options(const EngineSelection& engine, unsigned slots) {
    PlanOptions options;
    options.alignment = engine.alignment;
    options.slots = slots;
    options.one_by_one = engine.one_by_one || engine.kind == EngineKind::native;
    return options;
}

StagingNeed staging_need(const Dataset& dataset, std::span<const Order> epochs, const PlanOptions& options) {
    return staging_need(
        dataset, [&](std::uint64_t epoch) { return epochs[epoch]; }, epochs.size(), options);
}

StagingNeed staging_need(const Dataset& dataset, const std::function<Order(std::uint64_t)>& order_of,
                         std::uint64_t epochs, const PlanOptions& options) {
    StagingNeed need;
    if (epochs == 0) return need;
    const Order first = order_of(0);  // all are of one shape
    if (epochs <= kExactSamples / std::max<std::uint64_t>(first.samples(), 1)) {
        std::vector<std::vector<std::uint64_t>> lengths;
        lengths.reserve(epochs);
        for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
            lengths.push_back(span_lengths(dataset, order_of(epoch), options));
        }
        need.slab_bytes = ring_bytes(lengths, options.slots, start_alignment(options.alignment));
        for (const auto& epoch : lengths) {
            for (const std::uint64_t length : epoch) need.max_batch_bytes = std::max(need.max_batch_bytes, length);
        }
        return need;
    }
    const std::uint64_t worst = worst_footprint(options, dataset.info().max_length_bytes);
    need.max_batch_bytes = first.batch_samples(0) * worst;
    need.slab_bytes = need.max_batch_bytes * (options.slots + 1ULL);
    return need;
}

BatchPlanner::BatchPlanner(const Dataset& dataset, const Order& order, const PlanOptions& options,
                           std::uint64_t slab_bytes)
    : dataset_(dataset), order_(order), options_(options), slab_bytes_(slab_bytes) {}

bool BatchPlanner::next(PlannedBatch& out) {
    if (next_batch_ == order_.batches()) return false;
    out.index = next_batch_;
    out.bytes = 0;
    out.payload_bytes = 0;
    out.reads.clear();
    ids_.resize(order_.batch_samples(next_batch_));
    out.samples.resize(ids_.size());
    order_.batch(next_batch_, ids_);
    ++next_batch_;
    extents_.resize(ids_.size());
    for (std::size_t at = 0; at < ids_.size(); at += kPiece) {
        const std::size_t count = std::min(kPiece, ids_.size() - at);
        dataset_.locate(std::span(ids_).subspan(at, count), std::span(extents_).subspan(at, count));
    }
    for_each_run(extents_, options_,
                 [&](std::size_t first, std::size_t count, const Extent& run) { append(first, count, run, out); });
    if (out.bytes > slab_bytes_) {
        throw Error(ErrorKind::usage, fmt::format("batch {} needs {} of staging memory, which has {}", out.index,
                                                  format_size(static_cast<double>(out.bytes)),
                                                  format_size(static_cast<double>(slab_bytes_))))
            .advise("use a smaller --batch-size");
    }
    return true;
}

// Lays out one run of samples [first, first + count).
void BatchPlanner::append(std::size_t first, std::size_t count, const Extent& run, PlannedBatch& out) const {
    const std::uint64_t start = round_up(out.bytes, start_alignment(options_.alignment));
    const Footprint needed = footprint(options_.alignment, run);
    out.reads.push_back({run, start, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)});
    for (std::size_t i = first; i < first + count; ++i) {
        const Extent& record = extents_[i];
        const std::uint64_t in_run = record.offset_bytes - run.offset_bytes;
        out.samples[i] = {ids_[i], start + needed.payload_offset_bytes + in_run, record.length_bytes, SampleStatus::ok};
        out.payload_bytes += record.length_bytes;
    }
    out.bytes = start + needed.capacity_bytes;
}

}  // namespace feedline
