// A finished shard as the manifest and the journal tell it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "loaders/packed/manifest.h"

namespace feedline {

nlohmann::ordered_json shard_json(const PackedShard& shard);
// Throws what nlohmann-json throws, and Error{corrupt}.
PackedShard shard_of(const nlohmann::json& json);

// A whole number from 0 on, of at most 2^62: nobody has more, and sums of a few stay right. Throws Error{corrupt}.
std::uint64_t count_in(const nlohmann::json& json);
// A whole number of 64 bits. Throws Error{corrupt}.
std::int64_t whole_number_in(const nlohmann::json& json);

// Eight hexadecimal digits. Throws Error{corrupt}.
std::string checksum_text(std::uint32_t crc32c);
std::uint32_t parse_checksum(const std::string& text);

}  // namespace feedline
