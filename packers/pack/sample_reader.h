// Reads given samples of a dataset in order, through an engine, into staging memory: many reads at once, few of them
// waiting to be consumed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/slab.h"
#include "loaders/dataset.h"
#include "loaders/engine/engine.h"
#include "loaders/loader.h"
#include "packers/pack/file_pieces.h"

namespace feedline {

struct ReadOptions {
    EngineSelection engine;
    unsigned threads = 1;
    unsigned queue_depth = 32;
    OnError on_error = OnError::stop;
};

// What comes next: a record, or a piece of one.
struct RecordPiece {
    std::size_t position = 0;          // of the sample in `ids`
    std::uint64_t offset_bytes = 0;    // of the piece in the record
    std::uint64_t record_bytes = 0;    // of the whole record
    std::span<const std::byte> bytes;  // valid until the next call
    std::string failure;               // why it could not be read, with OnError::skip; empty: it was

    bool is_last() const { return offset_bytes + bytes.size() >= record_bytes; }
};

// Belongs to one thread, but for stop(). Staging memory is kept in `slab` for the next reader, which makes a larger one
// where it needs to.
class SampleReader {
public:
    // Throws what making a slab or an engine throws.
    SampleReader(const std::shared_ptr<const Dataset>& dataset, std::vector<SampleId> ids, const ReadOptions& options,
                 std::shared_ptr<Slab>& slab);

    // False at the end, or after stop(). Throws the error of a read with OnError::stop.
    bool next(RecordPiece& piece);

    void stop() { loader_->stop(); }  // any thread

private:
    std::shared_ptr<const FilePieces> pieces_;  // null: records come whole
    std::unique_ptr<Loader> loader_;
    const Batch* batch_ = nullptr;
    std::size_t in_batch_ = 0;
};

}  // namespace feedline
