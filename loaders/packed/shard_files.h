// How the files of a packed shard are called, beside SHARD itself.
#pragma once

#include <string>
#include <string_view>

namespace feedline {

inline constexpr std::string_view kSidecarSuffix = ".samples";
inline constexpr std::string_view kIndexSuffix = ".idx";          // for other readers
inline constexpr std::string_view kDataInDirectory = "data.mdb";  // of a shard that is a directory, as LMDB's are

}  // namespace feedline
