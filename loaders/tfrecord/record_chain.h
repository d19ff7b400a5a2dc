// TFRecord's headers as a chain. Eight bytes and their CRC32C are hard to take for anything else, so headers can be
// found in the middle of a shard.
#pragma once

#include "loaders/shards/chain.h"

namespace feedline::tfrecord {

class RecordChain final : public ChainFormat {
public:
    void follow(FileWindow& file, std::uint64_t until_bytes, Chain& chain) const override;
    // Of a record that fits in the file and is followed by another header or by the end of the file.
    std::optional<std::uint64_t> find(FileWindow& file, std::uint64_t from_bytes,
                                      std::uint64_t until_bytes) const override;
};

}  // namespace feedline::tfrecord
