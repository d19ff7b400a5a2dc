#include "packers/pack/sample_reader.h"

#include <algorithm>
#include <utility>

#include "loaders/dataset_slice.h"

namespace feedline {
namespace {

constexpr std::uint64_t kPieceBytes = 4U << 20U;
// Of staging memory, unless one record alone needs more. Little, so that what is written is still in the processor's
// cache.
constexpr std::uint64_t kSlabBytes = 48U << 20U;
constexpr std::uint64_t kBatchBytes = 1U << 20U;
constexpr std::uint64_t kBatchSamples = 256;
constexpr unsigned kSlots = 8;

std::shared_ptr<Slab> room_for(std::uint64_t bytes, std::shared_ptr<Slab>& slab) {
    // A worker that hangs may still write into the old one.
    if (slab == nullptr || slab->bytes() < bytes || slab.use_count() > 1) slab = make_host_slab(bytes);
    return slab;
}

}  // namespace

SampleReader::SampleReader(const std::shared_ptr<const Dataset>& dataset, std::vector<SampleId> ids,
                           const ReadOptions& options, std::shared_ptr<Slab>& slab) {
    std::shared_ptr<const Dataset> records;
    if (dataset->info().packed || !dataset->has_extents()) {
        records = std::make_shared<DatasetSlice>(dataset, std::move(ids));
    } else {
        pieces_ = std::make_shared<FilePieces>(dataset, ids, kPieceBytes);
        records = pieces_;
    }
    const DatasetInfo& info = records->info();
    const std::uint64_t mean = std::max<std::uint64_t>(1, info.bytes / std::max<std::uint64_t>(1, info.samples));
    OrderOptions order{.mode = OrderMode::sequential,
                       .batch_size = std::clamp(kBatchBytes / mean, std::uint64_t{1}, kBatchSamples)};
    LoaderOptions loader;
    loader.engine = options.engine;
    loader.threads = options.threads;
    loader.queue_depth = options.queue_depth;
    loader.slots = kSlots;
    loader.on_error = options.on_error;
    const auto need = [&] {
        const Order epoch(info.samples, order);
        return staging_need(*records, std::span(&epoch, 1), plan_options(loader.engine, loader.slots)).slab_bytes;
    };
    std::uint64_t bytes = need();
    while (bytes > kSlabBytes && (order.batch_size > 1 || loader.slots > 2)) {
        if (order.batch_size > 1) {
            order.batch_size /= 2;
        } else {
            loader.slots /= 2;
        }
        bytes = need();
    }
    loader_ = std::make_unique<Loader>(records, Order(info.samples, order), room_for(bytes, slab), nullptr, loader);
}

bool SampleReader::next(RecordPiece& piece) {
    while (batch_ == nullptr || in_batch_ == batch_->samples.size()) {
        if (batch_ != nullptr) loader_->release(batch_->index);
        batch_ = loader_->next();
        in_batch_ = 0;
        if (batch_ == nullptr) return false;
    }
    const SampleView& view = batch_->samples[in_batch_++];
    const FilePieces::Piece place =
        pieces_ != nullptr ? pieces_->piece(view.id)
                           : FilePieces::Piece{static_cast<std::uint32_t>(view.id), 0, 0, view.length_bytes};
    piece = {.position = place.sample,
             .offset_bytes = place.offset_bytes,
             .record_bytes = place.sample_bytes,
             .bytes = {batch_->data + view.offset_bytes, view.length_bytes},
             .failure = {}};
    if (view.status == SampleStatus::skipped) {
        // A batch tells how often what happened, not to whom.
        piece.failure = batch_->failures.size() == 1 ? batch_->failures.front().kind : "unreadable";
    }
    return true;
}

}  // namespace feedline
