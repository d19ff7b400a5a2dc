#include "loaders/packed/shard_json.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "loaders/packed/escape.h"

namespace feedline {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// In the directory itself, and nowhere else.
std::string plain_name(const json& value) {
    std::string name = unescaped(value.get<std::string>());
    const bool plain = !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
                       name.find('\0') == std::string::npos;
    if (!plain) throw Error(ErrorKind::corrupt, "a shard has a name that no file in the directory can have");
    return name;
}

}  // namespace

std::uint64_t count_in(const json& value) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
        throw Error(ErrorKind::corrupt, "a count is no whole number from 0 on");
    }
    return value.get<std::uint64_t>();
}

std::int64_t whole_number_in(const json& value) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost)) {
        throw Error(ErrorKind::corrupt, "a number is none of 64 bits");
    }
    return value.get<std::int64_t>();
}

std::string checksum_text(std::uint32_t crc32c) {
    return fmt::format("{:08x}", crc32c);
}

std::uint32_t parse_checksum(const std::string& text) {
    std::uint32_t value = 0;
    const char* end = text.data() + text.size();
    if (text.size() != 8 || std::from_chars(text.data(), end, value, 16).ptr != end) {
        throw Error(ErrorKind::corrupt, "a checksum is no number of eight hexadecimal digits");
    }
    return value;
}

ordered_json shard_json(const PackedShard& shard) {
    ordered_json told = {{"name", escaped(shard.name)},
                         {"samples", shard.samples},
                         {"bytes", shard.bytes},
                         {"content_bytes", shard.content_bytes},
                         {"crc32c", checksum_text(shard.crc32c)},
                         {"sidecar_crc32c", checksum_text(shard.sidecar_crc32c)}};
    if (shard.index_crc32c) told["index_crc32c"] = checksum_text(*shard.index_crc32c);
    if (shard.left_out.empty()) return told;
    ordered_json left_out = ordered_json::array();
    for (const LeftOut& one : shard.left_out)
        left_out.push_back({{"path", escaped(one.path)}, {"why", escaped(one.why)}});
    told["left_out"] = left_out;
    return told;
}

PackedShard shard_of(const json& value) {
    PackedShard shard{.name = plain_name(value.at("name")),
                      .samples = count_in(value.at("samples")),
                      .bytes = count_in(value.at("bytes")),
                      .content_bytes = count_in(value.at("content_bytes")),
                      .crc32c = parse_checksum(value.at("crc32c").get<std::string>()),
                      .sidecar_crc32c = parse_checksum(value.at("sidecar_crc32c").get<std::string>()),
                      .index_crc32c = {},
                      .left_out = {}};
    if (value.contains("index_crc32c"))
        shard.index_crc32c = parse_checksum(value.at("index_crc32c").get<std::string>());
    if (!value.contains("left_out")) return shard;
    for (const json& one : value.at("left_out")) {
        shard.left_out.push_back(
            {unescaped(one.at("path").get<std::string>()), unescaped(one.at("why").get<std::string>())});
    }
    return shard;
}

}  // namespace feedline
