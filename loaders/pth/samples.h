// What of a saved object is a sample. README.md has the rules.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loaders/pth/container.h"
#include "loaders/pth/tensor.h"

namespace feedline::pth {

// In our packed layout: a sample without a label among others that have one.
constexpr std::int64_t kNoLabel = std::numeric_limits<std::int64_t>::min();

// Where the bytes of a sample lie, if they lie together.
struct Record {
    std::uint64_t offset_bytes = 0;
    std::uint64_t length_bytes = 0;
};

// Samples whose bytes lie not in order.
struct Strided {
    std::uint64_t first = 0;  // sample of the shard
    std::uint64_t count = 0;  // as many rows of the tensor; or 1
    bool rows = false;        // each sample is a row; else the sample is the whole tensor
    Tensor tensor;
};

struct Samples {
    std::vector<Record> records;           // of strided ones: the length alone
    std::vector<Strided> strided;          // ascending
    std::vector<std::string> names;        // as many as records, or none
    std::vector<std::int64_t> labels;      // as many as records, or none; kNoLabel: that one has none
    std::vector<std::uint32_t> checksums;  // CRC-32 of records, as many or none; 0: not known
    std::vector<std::pair<std::string, std::int64_t>> classes;
    std::string_view layout;       // "packed", "rows" or "tensors"
    bool names_are_paths = false;  // of the files that samples were made from
    std::uint64_t beside = 0;      // tensors that belong to no sample
    std::string unread_labels;     // what stands where labels would, and is no integer for each sample; empty: nothing
};

// Reads offsets and labels from the file where samples are told by tensors. Throws Error{io, corrupt, usage}.
Samples samples_of(const Container& container, const std::string& path);

}  // namespace feedline::pth
