// What a packed dataset of ours remembers of its samples beside its shards, so that it comes back as it was whatever
// the format can hold: paths, labels, and what its parts were.
//
// Thread-safety: immutable after reading.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/shards/key_list.h"

namespace feedline {

class SourceMemory {
public:
    // From the sidecars of `source`, or of the shards of a dataset that it is; nothing where no manifest names them.
    // Throws Error{corrupt} with file and offset where the manifest or a sidecar is damaged, or where the dataset does
    // not hold as many samples as they say.
    static std::optional<SourceMemory> read(const Dataset& source);

    std::string path(SampleId id) const { return std::string(paths_[id]); }
    const Label& label(SampleId id) const { return labels_[id]; }
    std::size_t parts(SampleId id) const { return parts_[id]; }
    // Whether these are the parts that were packed, by their lengths and CRC32Cs.
    bool are(SampleId id, std::span<const Part> parts) const;

private:
    KeyList paths_;
    std::vector<Label> labels_;
    std::vector<std::uint16_t> parts_;
    std::vector<std::uint64_t> contents_;  // a digest of lengths and checksums of all parts
};

}  // namespace feedline
