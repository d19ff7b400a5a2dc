// Which entries of an LMDB file are samples: what writers have agreed on beside plain keys.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace feedline::lmdb {

// Keys that say something of the dataset as a whole: `__len__`, `__keys__` (folder2lmdb), `num-samples` (OCR sets),
// `total`, `length`, `keys`.
bool is_about_the_dataset(std::string_view key);

// OCR sets hold image-%09d and label-%09d from 1: the number, where `key` is of `kind` "image" or "label".
std::optional<std::uint64_t> numbered(std::string_view key, std::string_view kind);

// The path in Caffe's keys, %08d_PATH; empty in others.
std::string_view path_in(std::string_view key);

}  // namespace feedline::lmdb
