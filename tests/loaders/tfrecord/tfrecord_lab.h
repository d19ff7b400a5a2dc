// TFRecord shards for tests, and the plain walk that every faster one must agree with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace feedline::test {

// `payload` with its framing.
std::string framed(std::string_view payload);
// Payloads of these lengths, patterned by their number, framed one after the other.
std::string shard_of(const std::vector<std::uint64_t>& lengths_bytes);
// Where the records of such a shard begin.
std::vector<std::uint64_t> begins_of(const std::vector<std::uint64_t>& lengths_bytes);

}  // namespace feedline::test
