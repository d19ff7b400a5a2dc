// Writes HDF5 shards in the packed layout. See README.md.
#pragma once

#include "packers/packer.h"

namespace feedline {

class Hdf5Packer final : public Packer {
public:
    std::string_view format() const override { return "hdf5"; }
    std::string shard_name(std::string_view dataset, std::uint64_t number, std::uint64_t shards) const override;
    bool several_parts() const override { return false; }
    bool marks_unlabelled() const override { return true; }
    std::uint64_t estimate_bytes(std::uint64_t samples, std::uint64_t content_bytes) const override;
    std::unique_ptr<ShardWriter> open(const ShardPlan& plan) const override;
};

}  // namespace feedline
