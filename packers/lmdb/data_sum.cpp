#include "packers/lmdb/data_sum.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"

namespace feedline::lmdb {
namespace {

struct Place {
    std::uint64_t offset_bytes;
    LargeValue value;
};

// A large value lies on pages of its own, behind a header that tells which they are: number of the first (64 bit),
// padding and flags (16 each), how many (32). Nothing where it does not look so.
std::optional<std::uint64_t> offset_of(const MDB_val& value, std::uint64_t page_bytes) {
    constexpr std::uint64_t kHeaderBytes = 16;
    constexpr std::uint16_t kOverflow = 4;
    const std::byte* header = static_cast<const std::byte*>(value.mv_data) - kHeaderBytes;
    std::uint64_t page = 0;
    std::uint16_t flags = 0;
    std::uint32_t pages = 0;
    std::memcpy(&page, header, sizeof page);
    std::memcpy(&flags, header + 10, sizeof flags);
    std::memcpy(&pages, header + 12, sizeof pages);
    if (flags != kOverflow || pages != (kHeaderBytes + value.mv_size + page_bytes - 1) / page_bytes)
        return std::nullopt;
    return page * page_bytes + kHeaderBytes;
}

struct AbortTransaction {
    void operator()(MDB_txn* transaction) const { mdb_txn_abort(transaction); }
};
struct CloseCursor {
    void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};

void check(int result, const std::string& path) {
    if (result != MDB_SUCCESS) {
        throw Error(ErrorKind::internal,
                    std::string("what was written cannot be looked at (") + mdb_strerror(result) + ")")
            .at(path);
    }
}

// By offset.
std::vector<Place> places_of(MDB_env* environment, const std::string& path, std::span<const LargeValue> large) {
    MDB_stat stat{};
    check(mdb_env_stat(environment, &stat), path);
    MDB_txn* begun = nullptr;
    check(mdb_txn_begin(environment, nullptr, MDB_RDONLY, &begun), path);
    const std::unique_ptr<MDB_txn, AbortTransaction> transaction(begun);
    MDB_dbi database = 0;
    check(mdb_dbi_open(begun, nullptr, 0, &database), path);
    MDB_cursor* opened = nullptr;
    check(mdb_cursor_open(begun, database, &opened), path);
    const std::unique_ptr<MDB_cursor, CloseCursor> cursor(opened);
    std::vector<Place> places;
    std::size_t next = 0;
    MDB_val key{};
    MDB_val value{};
    int result = MDB_SUCCESS;
    while ((result = mdb_cursor_get(opened, &key, &value, MDB_NEXT)) == MDB_SUCCESS) {
        if (value.mv_size < kLargeBytes) continue;
        if (next == large.size() || large[next].bytes != value.mv_size) {
            throw Error(ErrorKind::internal, "a value is not there as it was written").at(path);
        }
        if (const std::optional<std::uint64_t> offset = offset_of(value, stat.ms_psize)) {
            places.push_back({*offset, large[next]});
        }
        ++next;
    }
    if (result != MDB_NOTFOUND) check(result, path);
    std::sort(places.begin(), places.end(),
              [](const Place& a, const Place& b) { return a.offset_bytes < b.offset_bytes; });
    return places;
}

}  // namespace

FileSum sum_of_data(MDB_env* environment, const std::string& data_file, std::span<const LargeValue> large) {
    PartReader file(data_file);
    FileSum all;
    for (const Place& place : places_of(environment, data_file, large)) {
        file.add(all, place.offset_bytes);
        all.crc32c = crc32c_joined(all.crc32c, place.value.crc32c, place.value.bytes);
        all.bytes += place.value.bytes;
    }
    file.add(all);
    return all;
}

}  // namespace feedline::lmdb
