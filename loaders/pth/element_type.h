// What the elements of a tensor are: the types of PyTorch by the names that pickles use for them.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace feedline::pth {

enum class Number : std::uint8_t { other, boolean, unsigned_integer, signed_integer };

struct ElementType {
    std::string_view dtype;    // as in torch.float32
    std::string_view storage;  // as in torch.FloatStorage; empty: has none
    std::uint32_t bytes = 0;
    Number number = Number::other;
};

// By the name of a storage class ("FloatStorage"), or of a dtype ("float32"); null: none of that name.
const ElementType* element_type_of_storage(std::string_view name);
const ElementType* element_type_of_dtype(std::string_view name);

// Bytes without a type of their own: torch.UntypedStorage.
const ElementType& untyped();

}  // namespace feedline::pth
