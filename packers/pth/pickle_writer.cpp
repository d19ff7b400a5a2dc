#include "packers/pth/pickle_writer.h"

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>

#include "core/little_endian.h"
#include "loaders/pickle/opcodes.h"
#include "loaders/pickle/surrogates.h"

namespace feedline::pickle {
namespace {

void put(std::string& out, Opcode opcode) {
    out += static_cast<char>(opcode);
}

template <std::unsigned_integral T>
void put_le(std::string& out, T value) {
    std::array<std::byte, sizeof(T)> bytes{};
    store_le(value, bytes);
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void put_global(std::string& out, std::string_view module, std::string_view name) {
    put(out, Opcode::global);
    out += module;
    out += '\n';
    out += name;
    out += '\n';
}

}  // namespace

void put_text(std::string& out, std::string_view bytes) {
    const std::string text = escape_surrogates(bytes);
    put(out, Opcode::binunicode);
    put_le(out, static_cast<std::uint32_t>(text.size()));
    out += text;
}

void put_number(std::string& out, std::int64_t number) {
    if (number >= 0 && number <= UINT8_MAX) {
        put(out, Opcode::binint1);
        put_le(out, static_cast<std::uint8_t>(number));
    } else if (number >= INT32_MIN && number <= INT32_MAX) {
        put(out, Opcode::binint);
        put_le(out, static_cast<std::uint32_t>(number));
    } else {
        put(out, Opcode::long1);
        put_le(out, static_cast<std::uint8_t>(sizeof(number)));
        put_le(out, static_cast<std::uint64_t>(number));
    }
}

void put_tensor(std::string& out, std::string_view storage_type, std::string_view key, std::uint64_t elements) {
    const auto count = static_cast<std::int64_t>(elements);
    put_global(out, "torch._utils", "_rebuild_tensor_v2");
    put(out, Opcode::mark);
    put(out, Opcode::mark);
    put_text(out, "storage");
    put_global(out, "torch", storage_type);
    put_text(out, key);
    put_text(out, "cpu");
    put_number(out, count);
    put(out, Opcode::tuple);
    put(out, Opcode::binpersid);
    put_number(out, 0);  // offset, sizes, strides
    put_number(out, count);
    put(out, Opcode::tuple1);
    put_number(out, 1);
    put(out, Opcode::tuple1);
    put(out, Opcode::newfalse);  // no gradient, no hooks
    put_global(out, "collections", "OrderedDict");
    put(out, Opcode::empty_tuple);
    put(out, Opcode::reduce);
    put(out, Opcode::tuple);
    put(out, Opcode::reduce);
}

}  // namespace feedline::pickle
