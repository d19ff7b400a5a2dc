// The checksum of a data file that was just written, without reading its large values again.
//
// Thread-safety: pure functions.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <span>
#include <string>

#include "packers/output/file_sum.h"

namespace feedline::lmdb {

// What is smaller costs less to read than to look up.
constexpr std::uint64_t kLargeBytes = 16U << 10U;

struct LargeValue {
    std::uint64_t bytes = 0;
    std::uint32_t crc32c = 0;
};

// `large`: all values of kLargeBytes or more, in the order of their keys in the main database. Nobody is writing.
// Throws Error{io, internal}.
FileSum sum_of_data(MDB_env* environment, const std::string& data_file, std::span<const LargeValue> large);

}  // namespace feedline::lmdb
