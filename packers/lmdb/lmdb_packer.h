// Writes LMDB shards of Caffe Datums. See README.md.
#pragma once

#include "loaders/packed/shard_files.h"
#include "packers/packer.h"

namespace feedline {

class LmdbPacker final : public Packer {
public:
    std::string_view format() const override { return "lmdb"; }
    std::string shard_name(std::string_view dataset, std::uint64_t number, std::uint64_t shards) const override;
    std::string_view data_file() const override { return kDataInDirectory; }
    bool several_parts() const override { return false; }
    bool keeps(const Label& label) const override { return std::holds_alternative<std::int64_t>(label); }
    std::uint64_t estimate_bytes(std::uint64_t samples, std::uint64_t content_bytes) const override;
    std::unique_ptr<ShardWriter> open(const ShardPlan& plan) const override;
};

}  // namespace feedline
