// Samples of a dataset of small files, in a given order, in pieces: what is larger than a piece is read in several, so
// that memory stays bounded however large a file is. A piece is a shard of its own. Thread-safe like any Dataset.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

class FilePieces final : public Dataset {
public:
    // `files` holds one sample a file (DatasetInfo::packed is false); `ids` are some of its samples.
    FilePieces(std::shared_ptr<const Dataset> files, std::span<const SampleId> ids, std::uint64_t piece_bytes);

    struct Piece {
        std::uint32_t sample = 0;        // position in `ids`
        std::uint32_t number = 0;        // of the piece within its sample
        std::uint64_t offset_bytes = 0;  // of the piece within its sample
        std::uint64_t sample_bytes = 0;  // of the whole sample
    };
    Piece piece(SampleId id) const;

    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override;
    Source source(ShardId shard, std::string& scratch) const override;
    void prefetch_source(ShardId shard) const override {
        files_->prefetch_source(extents_[places_[shard].sample].shard);
    }
    std::string path(ShardId shard) const override { return files_->path(extents_[places_[shard].sample].shard); }
    std::string key(SampleId id) const override;
    std::optional<std::int64_t> label(SampleId /*id*/) const override { return std::nullopt; }

private:
    struct Place {
        std::uint32_t sample;
        std::uint32_t number;
    };
    std::uint64_t length_bytes(const Place& place) const;

    std::shared_ptr<const Dataset> files_;
    std::uint64_t piece_bytes_;
    std::vector<Extent> extents_;  // of the samples
    std::vector<Place> places_;    // of the pieces
    DatasetInfo info_;
};

}  // namespace feedline
