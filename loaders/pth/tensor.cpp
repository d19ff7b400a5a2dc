#include "loaders/pth/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace feedline::pth {
namespace {

using pickle::Kind;
using pickle::Value;

constexpr std::size_t kMaxDimensions = 64;  // as in PyTorch

Error corrupt(const Place& place, std::string what) {
    return Error(ErrorKind::corrupt, std::move(what)).at(place.path, place.offset_bytes);
}

// Numbers that a pickle should hold where it holds sizes.
std::uint64_t natural(Value value, const Place& place) {
    const std::optional<std::int64_t> number = value.integer();
    if (!number || *number < 0) throw corrupt(place, "the pickle describes a tensor with a number that is none");
    return static_cast<std::uint64_t>(*number);
}

std::vector<std::uint64_t> naturals(Value value, const Place& place) {
    // torch.Size is a tuple with a name.
    if (value.is(Kind::call) && value.callee().is_global("torch", "Size") && value.arguments().size() == 1) {
        value = value.arguments()[0];
    }
    if (!value.is(Kind::tuple) && !value.is(Kind::list)) throw corrupt(place, "a tensor's sizes are no tuple");
    if (value.size() > kMaxDimensions) throw corrupt(place, fmt::format("a tensor of {} dimensions", value.size()));
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < value.size(); ++i) numbers.push_back(natural(value[i], place));
    return numbers;
}

std::uint64_t multiply(std::uint64_t a, std::uint64_t b, const Place& place) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) throw corrupt(place, "a tensor of more bytes than can be counted");
    return product;
}

std::uint64_t add(std::uint64_t a, std::uint64_t b, const Place& place) {
    std::uint64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) throw corrupt(place, "a tensor of more bytes than can be counted");
    return sum;
}

const ElementType* storage_type(Value type) {
    constexpr std::string_view kPrefix = "torch.";
    if (!type.is(Kind::global)) return nullptr;
    if (type.is_global("torch.storage", "UntypedStorage")) return &untyped();
    const std::string name = type.name();
    return name.starts_with(kPrefix) ? element_type_of_storage(std::string_view(name).substr(kPrefix.size())) : nullptr;
}

const ElementType* dtype(Value type) {
    constexpr std::string_view kPrefix = "torch.";
    const std::string name = type.name();
    return name.starts_with(kPrefix) ? element_type_of_dtype(std::string_view(name).substr(kPrefix.size())) : nullptr;
}

// Lazily conjugated or negated: the elements are others than the bytes.
void refuse_lazy(Value metadata, const Place& place) {
    if (!metadata.is(Kind::dict)) return;
    for (std::size_t i = 0; i < metadata.size(); ++i) {
        const auto [name, value] = metadata.entry(i);
        if (value.is(Kind::boolean) && value.integer() != 0) {
            throw Error(ErrorKind::usage, fmt::format("a tensor that is to be computed when it is loaded ({})",
                                                      printable(name.plain().value_or("?"))))
                .at(place.path, place.offset_bytes)
                .advise("Save it after resolve_conj() and resolve_neg()");
        }
    }
}

// _rebuild_tensor*(storage, offset, sizes, strides, ...); `type` null: the storage's own.
Tensor rebuild(Value arguments, const ElementType* type, const Storages& storages, const Place& place) {
    constexpr std::size_t kLeast = 4;
    if (arguments.size() < kLeast || !arguments[0].is(Kind::persistent)) {
        throw corrupt(place, "a tensor without storage, sizes or strides");
    }
    const StorageReference reference = parse_reference(arguments[0], place);
    const auto found = storages.find(std::string(reference.key));
    if (found == storages.end()) {
        throw corrupt(place, fmt::format("a tensor's storage {} is not in the file", printable(reference.key)));
    }
    const Storage& storage = found->second;

    Tensor tensor;
    tensor.type = type == nullptr ? reference.type : type;
    if (tensor.type == &untyped()) throw corrupt(place, "a tensor of no type");
    tensor.sizes = naturals(arguments[2], place);
    tensor.strides = naturals(arguments[3], place);
    if (tensor.sizes.size() != tensor.strides.size()) throw corrupt(place, "a tensor has more sizes than strides");

    const std::uint64_t item = tensor.type->bytes;
    const std::uint64_t begin = multiply(natural(arguments[1], place), item, place);
    const bool empty = std::find(tensor.sizes.begin(), tensor.sizes.end(), 0U) != tensor.sizes.end();
    std::uint64_t elements = empty ? 0 : 1;
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < tensor.sizes.size() && !empty; ++i) {
        elements = multiply(elements, tensor.sizes[i], place);
        last = add(last, multiply(tensor.sizes[i] - 1, tensor.strides[i], place), place);
    }
    tensor.bytes = multiply(elements, item, place);
    const std::uint64_t view_begin = multiply(reference.view_begin, reference.type->bytes, place);
    const std::uint64_t view_bytes = multiply(reference.view_elements, reference.type->bytes, place);
    const std::uint64_t end = empty ? 0 : add(begin, multiply(add(last, 1, place), item, place), place);
    if (end > view_bytes) {
        throw corrupt(place, fmt::format("a tensor reaches beyond its storage {}: {} of {} bytes",
                                         printable(reference.key), end, view_bytes));
    }
    // An expanded tensor repeats its bytes.
    if (tensor.bytes > place.file_bytes) {
        throw corrupt(place, fmt::format("a tensor of {} bytes, more than the file has", tensor.bytes));
    }
    const std::uint64_t in_storage = empty ? 0 : view_begin + begin;
    tensor.offset_bytes = storage.offset_bytes + in_storage;
    if (in_storage == 0 && tensor.bytes == storage.size_bytes && tensor.row_major()) tensor.crc32 = storage.crc32;
    return tensor;
}

std::optional<Tensor> tensor_of_call(Value callee, Value arguments, const Storages& storages, const Place& place,
                                     int depth);

std::optional<Tensor> tensor_at(Value value, const Storages& storages, const Place& place, int depth) {
    if (!value.is(Kind::call)) return std::nullopt;
    return tensor_of_call(value.callee(), value.arguments(), storages, place, depth);
}

std::optional<Tensor> tensor_of_call(Value callee, Value arguments, const Storages& storages, const Place& place,
                                     int depth) {
    constexpr int kMaxDepth = 8;  // a parameter of a tensor of a subclass
    if (depth > kMaxDepth) throw corrupt(place, "a tensor that is made of itself");
    if (callee.is_global("torch._utils", "_rebuild_tensor_v2") || callee.is_global("torch._utils", "_rebuild_tensor")) {
        constexpr std::size_t kMetadata = 6;
        if (arguments.size() > kMetadata) refuse_lazy(arguments[kMetadata], place);
        return rebuild(arguments, nullptr, storages, place);
    }
    if (callee.is_global("torch._utils", "_rebuild_tensor_v3")) {
        constexpr std::size_t kDtype = 6;
        constexpr std::size_t kMetadata = 7;
        const ElementType* type = arguments.size() > kDtype ? dtype(arguments[kDtype]) : nullptr;
        if (type == nullptr) throw corrupt(place, "a tensor of no type");
        if (arguments.size() > kMetadata) refuse_lazy(arguments[kMetadata], place);
        return rebuild(arguments, type, storages, place);
    }
    if (callee.is_global("torch._utils", "_rebuild_parameter") ||
        callee.is_global("torch._utils", "_rebuild_parameter_with_state") ||
        callee.is_global("torch.nn.parameter", "Parameter") || callee.is_global("torch.nn", "Parameter")) {
        if (arguments.size() == 0) throw corrupt(place, "a parameter without a tensor");
        return tensor_at(arguments[0], storages, place, depth + 1);
    }
    if (callee.is_global("torch._tensor", "_rebuild_from_type_v2")) {
        // (function, type, arguments, state)
        if (arguments.size() < 3 || !arguments[2].is(Kind::tuple)) throw corrupt(place, "a tensor without arguments");
        return tensor_of_call(arguments[0], arguments[2], storages, place, depth + 1);
    }
    return std::nullopt;
}

}  // namespace

StorageReference parse_reference(Value persistent, const Place& place) {
    // ('storage', type, key, device, elements [, None | (key of the view, begin, elements)])
    constexpr std::size_t kLeast = 5;
    const Value id = persistent.reference();
    if (!id.is(Kind::tuple) || id.size() < kLeast || id[0].plain() != "storage") {
        throw corrupt(place, "the pickle refers to something that is no storage");
    }
    StorageReference reference;
    reference.type = storage_type(id[1]);
    if (reference.type == nullptr) throw corrupt(place, "a storage of no type");
    const std::optional<std::string_view> key = id[2].plain();
    if (!key) throw corrupt(place, "a storage without a key");
    reference.key = *key;
    reference.elements = natural(id[4], place);
    multiply(reference.elements, reference.type->bytes, place);
    reference.view_elements = reference.elements;
    if (id.size() > kLeast && id[kLeast].is(Kind::tuple)) {
        const Value view = id[kLeast];
        if (view.size() != 3) throw corrupt(place, "a view of a storage without its bounds");
        reference.view_begin = natural(view[1], place);
        reference.view_elements = natural(view[2], place);
        if (add(reference.view_begin, reference.view_elements, place) > reference.elements) {
            throw corrupt(place, "a view reaches beyond its storage");
        }
    }
    return reference;
}

bool Tensor::row_major(std::size_t first) const {
    std::uint64_t expected = 1;
    for (std::size_t i = sizes.size(); i-- > first;) {
        if (sizes[i] == 0) return true;
        if (sizes[i] == 1) continue;
        if (strides[i] != expected) return false;
        expected *= sizes[i];
    }
    return true;
}

std::optional<Tensor> tensor_of(Value value, const Storages& storages, const Place& place) {
    return tensor_at(value, storages, place, 0);
}

}  // namespace feedline::pth
