// A tensor as a pickle describes it: where in the file its elements lie, and in which order.
//
// Thread-safety: pure functions of immutable values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loaders/pickle/value.h"
#include "loaders/pth/element_type.h"

namespace feedline::pth {

// The bytes that tensors are views of.
struct Storage {
    std::uint64_t offset_bytes = 0;  // in the file
    std::uint64_t size_bytes = 0;
    std::uint32_t crc32 = 0;  // 0: not known
};

using Storages = std::unordered_map<std::string, Storage>;  // by key

// What a pickle says of a storage where it refers to one.
struct StorageReference {
    std::string_view key;
    const ElementType* type = nullptr;
    std::uint64_t elements = 0;
    std::uint64_t view_begin = 0;  // in elements; files before 1.6 have views of storages
    std::uint64_t view_elements = 0;

    std::uint64_t bytes() const { return elements * type->bytes; }
};

// Where a value stands, for errors.
struct Place {
    std::string_view path;
    std::uint64_t offset_bytes = 0;  // of the pickle
    std::uint64_t file_bytes = 0;
};

// Throws Error{corrupt} for what is no reference to a storage.
StorageReference parse_reference(pickle::Value persistent, const Place& place);

struct Tensor {
    const ElementType* type = nullptr;
    std::uint64_t offset_bytes = 0;      // of its first element, in the file
    std::vector<std::uint64_t> sizes;    // outermost first
    std::vector<std::uint64_t> strides;  // in elements
    std::uint64_t bytes = 0;             // of all elements
    std::uint32_t crc32 = 0;             // of those, where they lie in order; 0: not known

    // Whether the elements lie in order and without gaps, in the dimensions from `first` on.
    bool row_major(std::size_t first = 0) const;
    bool is_list() const { return sizes.size() == 1; }  // one-dimensional
};

// The tensor that `value` is, or none. Throws Error{corrupt} where it reaches beyond its storage or has, by
// overlapping itself, more bytes than the whole file; Error{usage} for one whose bytes are not what it holds.
std::optional<Tensor> tensor_of(pickle::Value value, const Storages& storages, const Place& place);

}  // namespace feedline::pth
