// LMDB's file, read as bytes: meta pages and the tree of the main database (liblmdb 0.9, mdb.c: MDB_meta, MDB_page,
// MDB_node, MDB_db; 64-bit little-endian files, which is what everybody has).
//
// The library maps the file and trusts it: a truncated or damaged one ends the process. Here every number is checked
// before it is followed.
//
// Thread-safety: functions work on their arguments alone; a window belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "loaders/shards/window.h"

namespace feedline::lmdb {

struct Meta {
    std::uint32_t page_bytes = 0;
    std::uint16_t flags = 0;  // of the main database
    std::uint16_t depth = 0;
    std::uint64_t root = 0;  // page number; kNoPage: empty
    std::uint64_t entries = 0;
    std::uint64_t last_page = 0;
    std::uint64_t transaction = 0;
};

constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::size_t kMetaBytes = 152;  // of a page, its header included

// Whether a file begins as an LMDB data file does, of any kind that read_meta() knows by name.
bool looks_like_data_file(std::span<const std::byte> start);

// The newer of the two. Throws Error{corrupt} for what is none, and Error{usage} for 32-bit and big-endian files.
Meta read_meta(FileWindow& file);

struct Entry {
    std::string_view key;            // valid during the call
    std::uint64_t offset_bytes = 0;  // of the value in the file
    std::uint64_t length_bytes = 0;
};

// Every entry of the main database, in the order of keys. Throws Error{corrupt} with the offset of the page that is
// broken, Error{usage} where the main database holds other databases or several values a key.
void for_each_entry(FileWindow& file, const Meta& meta, const std::function<void(const Entry&)>& on_entry);

}  // namespace feedline::lmdb
