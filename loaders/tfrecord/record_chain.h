// TFRecord's headers as a chain. Eight bytes and their CRC32C are hard to take for anything else, so headers can be
// found in the middle of a shard.
#pragma once

#include "loaders/shards/chain.h"
#include "loaders/tfrecord/framing.h"

namespace feedline::tfrecord {

class RecordChain final : public ChainFormat {
public:
    std::string_view tag() const override { return "tfrecord"; }
    Next next(Window& file, std::uint64_t offset_bytes, std::size_t ahead, NextRecord& record,
              std::string& what) const override;
    std::size_t header_bytes() const override { return kHeaderBytes; }
    bool may_be_header(std::span<const std::byte> header, std::uint64_t file_bytes) const override;
    // DALI's (tfrecord2idx): a line "OFFSET SIZE" a record, framing included.
    bool read_index(std::string_view text, Window& shard, Chain& chain, std::string& why) const override;
};

}  // namespace feedline::tfrecord
