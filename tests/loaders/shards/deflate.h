// Compressed streams for tests, written by zlib. For builds that have it.
#pragma once

#include <string>
#include <string_view>

namespace feedline::test {

// One gzip member, or a zlib stream. `level` as zlib counts it: 0 stored to 9.
std::string gzipped(std::string_view content, int level = 6);
std::string zlibbed(std::string_view content, int level = 6);

}  // namespace feedline::test
