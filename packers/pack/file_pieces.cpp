#include "packers/pack/file_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace feedline {

FilePieces::FilePieces(std::shared_ptr<const Dataset> files, std::span<const SampleId> ids, std::uint64_t piece_bytes)
    : files_(std::move(files)), piece_bytes_(piece_bytes), extents_(ids.size()) {
    files_->locate(ids, extents_);
    places_.reserve(ids.size());
    info_.path = files_->info().path;
    info_.format = files_->info().format;
    for (std::uint32_t sample = 0; sample < extents_.size(); ++sample) {
        const std::uint64_t length = extents_[sample].length_bytes;
        const std::uint64_t pieces = std::max<std::uint64_t>(1, (length + piece_bytes_ - 1) / piece_bytes_);
        for (std::uint32_t number = 0; number < pieces; ++number) places_.push_back({sample, number});
        info_.bytes += length;
        info_.max_length_bytes = std::max(info_.max_length_bytes, std::min(length, piece_bytes_));
    }
    info_.samples = places_.size();
    info_.shards = places_.size();
}

std::uint64_t FilePieces::length_bytes(const Place& place) const {
    return std::min(piece_bytes_, extents_[place.sample].length_bytes - place.number * piece_bytes_);
}

FilePieces::Piece FilePieces::piece(SampleId id) const {
    const Place& place = places_[id];
    return {place.sample, place.number, place.number * piece_bytes_, extents_[place.sample].length_bytes};
}

void FilePieces::locate(std::span<const SampleId> ids, std::span<Extent> extents) const {
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const Place& place = places_[ids[i]];
        extents[i] = {extents_[place.sample].offset_bytes + place.number * piece_bytes_, length_bytes(place),
                      static_cast<ShardId>(ids[i])};
    }
}

Source FilePieces::source(ShardId shard, std::string& scratch) const {
    const Place& place = places_[shard];
    const Extent& extent = extents_[place.sample];
    Source source = files_->source(extent.shard, scratch);
    // Only the last piece ends where the file should.
    source.whole_file = source.whole_file && place.number * piece_bytes_ + length_bytes(place) == extent.length_bytes;
    return source;
}

std::string FilePieces::key(SampleId id) const {
    return fmt::format("{}#{}", path(static_cast<ShardId>(id)), places_[id].number);
}

}  // namespace feedline
