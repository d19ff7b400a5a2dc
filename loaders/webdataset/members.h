// The members of a tar archive, with the extension headers before them taken as part of them.
//
// Thread-safety: functions work on their arguments alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "loaders/shards/chain.h"
#include "loaders/webdataset/tar_header.h"

namespace feedline::tar {

// `want` bytes from `offset` on, or as many as there are.
using ReadAt = std::function<std::span<const std::byte>(std::uint64_t offset, std::size_t want)>;

struct Member {
    std::uint64_t begin_bytes = 0;  // of its first header
    std::uint64_t data_bytes = 0;   // where its content begins
    std::uint64_t end_bytes = 0;    // where the next member begins
    Header header;                  // name and size as extensions have them
};

// What lies at `offset` of an archive of `size_bytes`. On a fault `what` says what is wrong there. The archive ends
// with a block of zeros, or, as some writers leave it, with the file.
Next next_member(const ReadAt& read, std::uint64_t offset, std::uint64_t size_bytes, Member& member, std::string& what);

}  // namespace feedline::tar
