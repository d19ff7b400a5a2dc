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

// Whether `next` follows `run` in its shard and may be read with it.
bool continues(const Extent& run, const Extent& next, const PlanOptions& options) {
    return !options.one_by_one && next.shard == run.shard && next.offset_bytes == run.offset_bytes + run.length_bytes &&
           run.length_bytes + next.length_bytes <= options.coalesce_limit_bytes;
}

// Length of the span of one batch, built record by record as BatchPlanner lays it out.
class SpanLength {
public:
    explicit SpanLength(const PlanOptions& options) : options_(options) {}

    void add(const Extent& extent) {
        if (open_ && continues(run_, extent, options_)) {
            run_.length_bytes += extent.length_bytes;
            return;
        }
        close();
        run_ = extent;
        open_ = true;
    }
    std::uint64_t close() {
        if (open_) {
            bytes_ = round_up(bytes_, start_alignment(options_.alignment)) +
                     footprint(options_.alignment, run_).capacity_bytes;
        }
        open_ = false;
        return bytes_;
    }

private:
    const PlanOptions& options_;
    Extent run_;
    bool open_ = false;
    std::uint64_t bytes_ = 0;
};

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
            SpanLength length(options);
            const std::size_t end = at + order.batch_samples(i);
            for (; at < end; ++at) length.add(extents[at]);
            lengths.push_back(length.close());
        }
    }
    return lengths;
}

// The longest that the record of `length_bytes` can make a batch's span grow by.
std::uint64_t worst_footprint(const PlanOptions& options, std::uint64_t length_bytes) {
    // A direct read pads most when the record begins with the last byte of a block.
    const Extent worst{options.alignment.offset_bytes - 1, length_bytes, 0};
    return round_up(footprint(options.alignment, worst).capacity_bytes, start_alignment(options.alignment));
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
    : dataset_(dataset), order_(order), options_(options), slab_bytes_(slab_bytes), extents_(kPiece) {}

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
    for (std::size_t at = 0; at < ids_.size(); at += kPiece) {
        append(at, std::min(kPiece, ids_.size() - at), out);
    }
    if (!out.reads.empty()) close_run(out);
    if (out.bytes > slab_bytes_) {
        throw Error(ErrorKind::usage, fmt::format("batch {} needs {} of staging memory, which has {}", out.index,
                                                  format_size(static_cast<double>(out.bytes)),
                                                  format_size(static_cast<double>(slab_bytes_))))
            .advise("use a smaller --batch-size");
    }
    return true;
}

// Lays out samples [first, first + count); the last run stays open, for the next piece may continue it.
void BatchPlanner::append(std::size_t first, std::size_t count, PlannedBatch& out) {
    const std::span<const SampleId> ids = std::span(ids_).subspan(first, count);
    const std::span<Extent> extents = std::span(extents_).first(count);
    dataset_.locate(ids, extents);
    for (std::size_t i = 0; i < count; ++i) {
        const Extent& extent = extents[i];
        if (!out.reads.empty() && continues(out.reads.back().extent, extent, options_)) {
            out.reads.back().extent.length_bytes += extent.length_bytes;
            ++out.reads.back().samples;
        } else {
            if (!out.reads.empty()) close_run(out);
            const std::uint64_t start = round_up(out.bytes, start_alignment(options_.alignment));
            // Where the payload starts does not depend on how long the run becomes.
            next_payload_bytes_ = start + footprint(options_.alignment, extent).payload_offset_bytes;
            out.reads.push_back({extent, start, static_cast<std::uint32_t>(first + i), 1});
        }
        out.samples[first + i] = {ids[i], next_payload_bytes_, extent.length_bytes, SampleStatus::ok};
        next_payload_bytes_ += extent.length_bytes;
        out.payload_bytes += extent.length_bytes;
    }
}

void BatchPlanner::close_run(PlannedBatch& out) const {
    const PlannedRead& run = out.reads.back();
    out.bytes = run.batch_offset_bytes + footprint(options_.alignment, run.extent).capacity_bytes;
}

}  // namespace feedline
