#include "loaders/replay.h"

#include <algorithm>
#include <cstring>

namespace feedline {
namespace {

constexpr std::uint64_t kPageBytes = 4096;  // places begin on a page, as good for a copy as any batch's start

}  // namespace

ReplayedBatch::ReplayedBatch(const PlannedBatch& read, Slab& slab, unsigned slots)
    : samples_(read.samples),
      bytes_(read.bytes),
      stride_bytes_(std::max<std::uint64_t>(1, (read.bytes + kPageBytes - 1) / kPageBytes) * kPageBytes),
      places_(std::clamp<std::uint64_t>(slab.bytes() / stride_bytes_, 1, slots)) {
    for (const SampleView& view : samples_) {
        payload_bytes_ += view.length_bytes;
        any_skipped_ = any_skipped_ || view.status == SampleStatus::skipped;
    }
    // Batch 0 lies at 0. Where there are fewer places than slots, batches in flight share one: nobody writes to it.
    for (std::uint64_t place = 1; place < places_; ++place) {
        std::memcpy(slab.data() + place * stride_bytes_, slab.data(), bytes_);
    }
}

void ReplayedBatch::apply(PlannedBatch& plan, std::uint64_t index) const {
    const std::size_t samples = std::min(plan.samples.size(), samples_.size());
    plan.samples.assign(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(samples));
    plan.slab_offset_bytes = index % places_ * stride_bytes_;
    plan.bytes = bytes_;
    plan.payload_bytes = payload_bytes_;
    if (samples == samples_.size()) return;
    plan.bytes = 0;
    plan.payload_bytes = 0;
    for (const SampleView& view : plan.samples) {
        plan.bytes = std::max(plan.bytes, view.offset_bytes + view.length_bytes);
        plan.payload_bytes += view.length_bytes;
    }
}

std::uint64_t ReplayedBatch::skipped(std::size_t samples) const {
    if (!any_skipped_) return 0;
    const auto end = samples_.begin() + static_cast<std::ptrdiff_t>(samples);
    return static_cast<std::uint64_t>(std::count_if(
        samples_.begin(), end, [](const SampleView& view) { return view.status == SampleStatus::skipped; }));
}

}  // namespace feedline
