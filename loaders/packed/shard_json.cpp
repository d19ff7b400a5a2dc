#include "loaders/packed/shard_json.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "loaders/packed/escape.h"

namespace feedline {

using nlohmann::ordered_json;

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
    ordered_json json = {{"name", escaped(shard.name)},
                         {"samples", shard.samples},
                         {"bytes", shard.bytes},
                         {"content_bytes", shard.content_bytes},
                         {"crc32c", checksum_text(shard.crc32c)},
                         {"sidecar_crc32c", checksum_text(shard.sidecar_crc32c)}};
    if (shard.index_crc32c) json["index_crc32c"] = checksum_text(*shard.index_crc32c);
    if (shard.left_out.empty()) return json;
    ordered_json left_out = ordered_json::array();
    for (const LeftOut& one : shard.left_out)
        left_out.push_back({{"path", escaped(one.path)}, {"why", escaped(one.why)}});
    json["left_out"] = left_out;
    return json;
}

PackedShard shard_of(const ordered_json& json) {
    PackedShard shard{.name = unescaped(json.at("name").get<std::string>()),
                      .samples = json.at("samples").get<std::uint64_t>(),
                      .bytes = json.at("bytes").get<std::uint64_t>(),
                      .content_bytes = json.at("content_bytes").get<std::uint64_t>(),
                      .crc32c = parse_checksum(json.at("crc32c").get<std::string>()),
                      .sidecar_crc32c = parse_checksum(json.at("sidecar_crc32c").get<std::string>()),
                      .index_crc32c = {},
                      .left_out = {}};
    if (json.contains("index_crc32c")) shard.index_crc32c = parse_checksum(json.at("index_crc32c").get<std::string>());
    if (!json.contains("left_out")) return shard;
    for (const ordered_json& one : json.at("left_out")) {
        shard.left_out.push_back(
            {unescaped(one.at("path").get<std::string>()), unescaped(one.at("why").get<std::string>())});
    }
    return shard;
}

}  // namespace feedline
