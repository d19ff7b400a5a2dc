// The members of a tar as a chain; a record's name is the key of the sample that a member belongs to, empty where it
// belongs to none.
#pragma once

#include "loaders/shards/chain.h"
#include "loaders/webdataset/tar_header.h"

namespace feedline::webdataset {

class TarChain final : public ChainFormat {
public:
    Next next(Window& file, std::uint64_t offset_bytes, std::size_t ahead, NextRecord& record,
              std::string& what) const override;
    std::uint64_t alignment_bytes() const override { return tar::kBlockBytes; }
    std::size_t header_bytes() const override { return tar::kBlockBytes; }
    bool may_be_header(std::span<const std::byte> header, std::uint64_t file_bytes) const override;
};

}  // namespace feedline::webdataset
