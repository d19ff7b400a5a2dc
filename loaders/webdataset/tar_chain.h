// The members of a tar as a chain; a record's note tells to which sample a member belongs.
#pragma once

#include "loaders/shards/chain.h"
#include "loaders/webdataset/tar_header.h"

namespace feedline::webdataset {

// The note of members that belong to no sample. Members of one sample have the same other one; only neighbours are to
// be compared.
constexpr std::uint64_t kNoSample = 0;

class TarChain final : public ChainFormat {
public:
    Next next(FileWindow& file, std::uint64_t offset_bytes, std::size_t ahead, NextRecord& record,
              std::string& what) const override;
    std::uint64_t alignment_bytes() const override { return tar::kBlockBytes; }
    std::size_t header_bytes() const override { return tar::kBlockBytes; }
    bool may_be_header(std::span<const std::byte> header, std::uint64_t file_bytes) const override;
};

}  // namespace feedline::webdataset
