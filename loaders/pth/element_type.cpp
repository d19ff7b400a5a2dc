#include "loaders/pth/element_type.h"

#include <algorithm>
#include <array>

namespace feedline::pth {
namespace {

// torch/storage.py and c10/core/ScalarType.h.
constexpr std::array<ElementType, 22> kTypes = {{
    {"uint8", "ByteStorage", 1, Number::unsigned_integer},
    {"int8", "CharStorage", 1, Number::signed_integer},
    {"int16", "ShortStorage", 2, Number::signed_integer},
    {"int32", "IntStorage", 4, Number::signed_integer},
    {"int64", "LongStorage", 8, Number::signed_integer},
    {"bool", "BoolStorage", 1, Number::boolean},
    {"float16", "HalfStorage", 2, Number::other},
    {"bfloat16", "BFloat16Storage", 2, Number::other},
    {"float32", "FloatStorage", 4, Number::other},
    {"float64", "DoubleStorage", 8, Number::other},
    {"complex32", "", 4, Number::other},
    {"complex64", "ComplexFloatStorage", 8, Number::other},
    {"complex128", "ComplexDoubleStorage", 16, Number::other},
    {"uint16", "", 2, Number::unsigned_integer},
    {"uint32", "", 4, Number::unsigned_integer},
    {"uint64", "", 8, Number::unsigned_integer},
    {"float8_e4m3fn", "", 1, Number::other},
    {"float8_e5m2", "", 1, Number::other},
    {"float8_e4m3fnuz", "", 1, Number::other},
    {"float8_e5m2fnuz", "", 1, Number::other},
    {"float8_e8m0fnu", "", 1, Number::other},
    {"", "UntypedStorage", 1, Number::other},
}};

template <typename Matches>
const ElementType* find(const Matches& matches) {
    const auto* const found = std::find_if(kTypes.begin(), kTypes.end(), matches);
    return found == kTypes.end() ? nullptr : found;
}

}  // namespace

const ElementType* element_type_of_storage(std::string_view name) {
    return name.empty() ? nullptr : find([&](const ElementType& type) { return type.storage == name; });
}

const ElementType* element_type_of_dtype(std::string_view name) {
    return name.empty() ? nullptr : find([&](const ElementType& type) { return type.dtype == name; });
}

const ElementType& untyped() {
    return kTypes.back();
}

}  // namespace feedline::pth
