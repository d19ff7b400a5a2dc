#include "loaders/dataset_slice.h"

#include <algorithm>
#include <array>
#include <utility>

namespace feedline {
namespace {

// Asks the whole dataset's reader for what the slice calls by other numbers.
class SliceReader final : public NativeReader {
public:
    SliceReader(std::unique_ptr<NativeReader> whole, std::span<const SampleId> ids)
        : whole_(std::move(whole)), ids_(ids) {}

    std::int64_t read(SampleId id, const Extent& extent, std::span<std::byte> destination) override {
        return whole_->read(ids_[id], extent, destination);
    }
    std::string problem() const override { return whole_->problem(); }

private:
    std::unique_ptr<NativeReader> whole_;
    std::span<const SampleId> ids_;
};

}  // namespace

std::unique_ptr<NativeReader> DatasetSlice::native_reader() const {
    std::unique_ptr<NativeReader> whole = whole_->native_reader();
    if (whole == nullptr) return nullptr;
    return std::make_unique<SliceReader>(std::move(whole), ids_);
}

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
