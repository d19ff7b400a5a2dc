#include "bench/dataset_slice.h"

#include <algorithm>
#include <array>
#include <utility>

namespace feedline {

DatasetSlice::DatasetSlice(std::shared_ptr<const Dataset> whole, std::vector<SampleId> ids)
    : whole_(std::move(whole)), ids_(std::move(ids)), info_(whole_->info()) {
    info_.samples = ids_.size();
    info_.bytes = 0;
    info_.max_length_bytes = 0;
    std::vector<Extent> extents(ids_.size());
    whole_->locate(ids_, extents);
    for (const Extent& extent : extents) {
        info_.bytes += extent.length_bytes;
        info_.max_length_bytes = std::max(info_.max_length_bytes, extent.length_bytes);
    }
}

void DatasetSlice::locate(std::span<const SampleId> ids, std::span<Extent> extents) const {
    constexpr std::size_t kAtOnce = 256;
    std::array<SampleId, kAtOnce> mapped{};
    for (std::size_t at = 0; at < ids.size(); at += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, ids.size() - at);
        for (std::size_t i = 0; i < count; ++i) mapped[i] = ids_[ids[at + i]];
        whole_->locate(std::span(mapped).first(count), extents.subspan(at, count));
    }
}

}  // namespace feedline
