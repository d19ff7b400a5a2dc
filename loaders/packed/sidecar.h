// SHARD.samples: what is in a shard, a line of JSON a sample:
//
//   {"key":"cats/1","path":"cats/1.jpg","label":0,"parts":[{"name":"jpg","bytes":1234,"crc32c":"0a1b2c3d"}]}
//
// `key` is the sample's name in the format, `path` the file that it was made from. Names are written as
// escape.h has it. `label` is a number, a list of numbers or text, or missing. Part by part: name, length and
// CRC32C of the content as it was read from the source.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/packed/shard_files.h"

namespace feedline {

struct SidecarPart {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint32_t crc32c = 0;

    bool operator==(const SidecarPart&) const = default;
};

struct SidecarSample {
    std::string key;   // raw bytes
    std::string path;  // raw bytes
    Label label;
    std::vector<SidecarPart> parts;

    bool operator==(const SidecarSample&) const = default;
};

// With its line's end.
std::string to_line(const SidecarSample& sample);
// Throws Error{corrupt} that says what is wrong; the caller adds where.
SidecarSample parse_line(std::string_view line);

// Returns the CRC32C of the file. Calls each(sample, offset of its line) for all samples of the file at `path`, in
// order, in bounded memory. Throws Error{io, corrupt}.
std::uint32_t for_each_sample(const std::string& path,
                              const std::function<void(const SidecarSample&, std::uint64_t)>& each);

}  // namespace feedline
