// The members of a tar as a chain; a record's name is the key of the sample that a member belongs to, empty where it
// belongs to none.
#pragma once

#include "loaders/shards/chain.h"
#include "loaders/webdataset/tar_header.h"

namespace feedline::webdataset {

class TarChain final : public ChainFormat {
public:
    std::string_view tag() const override { return "tar"; }
    Next next(Window& file, std::uint64_t offset_bytes, std::size_t ahead, NextRecord& record,
              std::string& what) const override;
    std::uint64_t alignment_bytes() const override { return tar::kBlockBytes; }
    std::size_t header_bytes() const override { return tar::kBlockBytes; }
    bool may_be_header(std::span<const std::byte> header, std::uint64_t file_bytes) const override;
    // DALI's (wds2idx): "v1.2 N", then a line a sample, for each part "EXT OFFSET SIZE NAME" (v1.1: without the name)
    // with the offset of its content. A link is a whole sample; where no name tells its key, it is FILE#N.
    bool read_index(std::string_view text, Window& shard, Chain& chain, std::string& why) const override;
};

}  // namespace feedline::webdataset
