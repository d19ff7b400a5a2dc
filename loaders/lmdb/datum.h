// Caffe's Datum (caffe.proto): channels 1, height 2, width 3, data 4, label 5, float_data 6, encoded 7.
//
// Thread-safety: values. Views are valid as long as the message is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace feedline::lmdb {

struct Datum {
    std::span<const std::byte> data;
    std::optional<std::int64_t> label;
    bool encoded = false;  // data is a file such as a JPEG, not pixels
};

// Nothing when the value is no Datum, and always in a build without protobuf.
std::optional<Datum> parse_datum(std::span<const std::byte> value);

}  // namespace feedline::lmdb
