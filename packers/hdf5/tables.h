// What libhdf5 adds to a shard whose payloads are in their file already.
//
// All functions take LibraryLock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loaders/dataset.h"

namespace feedline::hdf5 {

// Where payloads begin in every shard: room for what stands before them.
constexpr std::uint64_t kPayloadsAt = 12288;

// What a shard begins with: an HDF5 file that holds nothing. It is made at `path`, where nothing may be, and removed.
// Throws Error{io, internal}.
std::string empty_file(const std::string& path);

struct Tables {
    std::uint64_t payload_bytes = 0;         // from kPayloadsAt on
    std::span<const std::uint64_t> offsets;  // one more than there are samples
    std::span<const std::int64_t> labels;    // one a sample, or none
    std::span<const ClassName> classes;      // written where there are labels
    std::string_view keys;                   // of all samples, one after the other
    std::span<const std::uint64_t> key_ends;
};

// Makes datasets of what follows the empty file in `path`, and adds the rest behind it. Throws Error{io, out_of_space},
// and Error{internal} where the library would not put them there.
void add_tables(const std::string& path, const Tables& tables);

}  // namespace feedline::hdf5
