// Headers of a tar archive as POSIX has them (POSIX.1-2017, pax): ustar where name and size fit, with a PAX header
// before it where they do not. Nothing of the machine or the time is in them, so that the same input gives the same
// bytes.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace feedline::tar {

// The blocks before the content of a file of that name and size: whole blocks of 512 bytes.
std::vector<std::byte> file_header(std::string_view name, std::uint64_t size_bytes);

// How many bytes fill the last block of a content of `size_bytes`.
constexpr std::uint64_t padding(std::uint64_t size_bytes) {
    return (512 - size_bytes % 512) % 512;
}

// Two blocks of zeros end an archive.
constexpr std::uint64_t kEndBytes = 1024;

}  // namespace feedline::tar
