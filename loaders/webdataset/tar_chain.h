// The members of a tar as a chain; a link's note tells to which sample a member belongs.
#pragma once

#include "loaders/shards/chain.h"

namespace feedline::webdataset {

class TarChain final : public ChainFormat {
public:
    void follow(FileWindow& file, std::uint64_t until_bytes, Chain& chain) const override;
    // Of a ustar header at a multiple of 512 that is followed by another header, by zeros or by the end of the file.
    std::optional<std::uint64_t> find(FileWindow& file, std::uint64_t from_bytes,
                                      std::uint64_t until_bytes) const override;
};

// The note of members that belong to no sample.
constexpr std::uint64_t kNoSample = 0;

}  // namespace feedline::webdataset
