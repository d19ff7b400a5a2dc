#include "loaders/lmdb/pickled_pair.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"
#include "loaders/pickle/machine.h"
#include "loaders/pickle/opcodes.h"

namespace feedline::lmdb {
namespace {

using namespace pickle;

// What stands beside the bytes in a pickle: a label, and a few opcodes.
constexpr std::uint64_t kMostBeside = 64U << 10U;

std::uint64_t little_endian(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8U | static_cast<std::uint64_t>(bytes[i - 1]);
    return value;
}

// The length of the bytes that are the first thing in the pickle. Asked before anything is parsed: other pickles may be
// made of very many small values.
std::optional<std::uint64_t> first_bytes(std::span<const std::byte> value) {
    std::size_t at = 0;
    const auto next_is = [&](Opcode opcode) {
        return at < value.size() && static_cast<std::uint8_t>(value[at]) == static_cast<std::uint8_t>(opcode);
    };
    if (!next_is(Opcode::proto)) return std::nullopt;
    at += 2;
    if (next_is(Opcode::frame)) at += 9;
    std::size_t width = 0;
    if (next_is(Opcode::short_binbytes)) width = 1;
    if (next_is(Opcode::binbytes)) width = 4;
    if (next_is(Opcode::binbytes8)) width = 8;
    if (width == 0 || value.size() - at < 1 + width) return std::nullopt;
    return little_endian(value.subspan(at + 1, width));
}

Label label_of(const Value& value) {
    if (const std::optional<std::int64_t> number = value.integer()) return *number;
    if (value.is(Kind::text)) {
        if (const std::optional<std::string_view> text = value.plain()) return std::string(*text);
    }
    return {};
}

}  // namespace

std::optional<PickledPair> parse_pickled_pair(std::span<const std::byte> value) {
    const std::optional<std::uint64_t> bytes = first_bytes(value);
    if (!bytes || *bytes > value.size() || value.size() - *bytes > kMostBeside) return std::nullopt;
    try {
        const Tree tree = parse(value, {});
        const Value pair = tree.root();
        if (!(pair.is(Kind::tuple) || pair.is(Kind::list)) || pair.size() != 2 || !pair[0].is(Kind::bytes)) {
            return std::nullopt;
        }
        const std::optional<std::string_view> data = pair[0].plain();
        if (!data) return std::nullopt;
        return PickledPair{std::as_bytes(std::span(data->data(), data->size())), label_of(pair[1])};
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace feedline::lmdb
