#include "loaders/webdataset/tar_header.h"

#include <algorithm>
#include <charconv>

namespace feedline::tar {
namespace {

std::string_view text(std::span<const std::byte> field) {
    const std::string_view whole(reinterpret_cast<const char*>(field.data()), field.size());
    return whole.substr(0, whole.find('\0'));
}

// Octal with leading and closing spaces or NULs, or, with the first bit set, base 256 (GNU and others, beyond 8 GiB).
std::optional<std::uint64_t> number(std::span<const std::byte> field) {
    const auto first = std::to_integer<unsigned>(field.front());
    if ((first & 0x80U) != 0) {
        if ((first & 0x40U) != 0) return std::nullopt;  // negative
        std::uint64_t value = first & 0x3fU;
        for (const std::byte byte : field.subspan(1)) {
            if (value >> 56U != 0) return std::nullopt;
            value = value << 8U | std::to_integer<std::uint64_t>(byte);
        }
        return value;
    }
    std::string_view digits = text(field);
    while (digits.starts_with(' ')) digits.remove_prefix(1);
    while (digits.ends_with(' ')) digits.remove_suffix(1);
    if (digits.empty()) return 0;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

constexpr std::size_t kChecksumAt = 148;
constexpr std::size_t kChecksumBytes = 8;

// The sum of all bytes with the checksum's own as spaces; some old writers took bytes as signed.
bool checksum_fits(Block block) {
    const std::optional<std::uint64_t> stored = number(block.subspan<kChecksumAt, kChecksumBytes>());
    if (!stored) return false;
    std::uint64_t unsigned_sum = std::uint64_t{' '} * kChecksumBytes;
    std::int64_t signed_sum = std::int64_t{' '} * static_cast<std::int64_t>(kChecksumBytes);
    for (std::size_t i = 0; i < block.size(); ++i) {
        if (i >= kChecksumAt && i < kChecksumAt + kChecksumBytes) continue;
        unsigned_sum += std::to_integer<std::uint64_t>(block[i]);
        signed_sum += static_cast<signed char>(block[i]);
    }
    return *stored == unsigned_sum || static_cast<std::int64_t>(*stored) == signed_sum;
}

}  // namespace

bool is_zero(Block block) {
    return std::all_of(block.begin(), block.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

bool has_magic(Block block) {
    return text(block.subspan<257, 6>()).starts_with("ustar");
}

std::optional<Header> parse_header(Block block) {
    if (!checksum_fits(block)) return std::nullopt;
    const std::optional<std::uint64_t> size = number(block.subspan<124, 12>());
    if (!size) return std::nullopt;
    Header header;
    header.name = text(block.subspan<0, 100>());
    header.size_bytes = *size;
    header.type = static_cast<char>(block[156]);
    // GNU's own format ("ustar  ") keeps times where POSIX has the prefix.
    const bool posix = block[262] == std::byte{0} && has_magic(block);
    if (posix) {
        const std::string_view prefix = text(block.subspan<345, 155>());
        if (!prefix.empty()) header.name = std::string(prefix) + "/" + header.name;
    }
    return header;
}

bool parse_pax(std::string_view records, Extension& extension) {
    while (!records.empty()) {
        std::size_t length = 0;
        const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
        const auto digits = static_cast<std::size_t>(end - records.data());
        if (error != std::errc() || length > records.size() || length < digits + 3) return false;
        if (records[digits] != ' ' || records[length - 1] != '\n') return false;
        const std::string_view record = records.substr(digits + 1, length - digits - 2);
        records.remove_prefix(length);
        const std::size_t equals = record.find('=');
        if (equals == std::string_view::npos) return false;
        const std::string_view key = record.substr(0, equals);
        const std::string_view value = record.substr(equals + 1);
        if (key == "path") extension.name = std::string(value);
        if (key == "size") {
            std::uint64_t size = 0;
            const auto [stop, bad] = std::from_chars(value.data(), value.data() + value.size(), size);
            if (bad != std::errc() || stop != value.data() + value.size()) return false;
            extension.size_bytes = size;
        }
    }
    return true;
}

}  // namespace feedline::tar
