#include "loaders/lmdb/page_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/little_endian.h"

namespace feedline::lmdb {
namespace {

constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kMagicOtherEndian = 0xDEC0EFBE;
constexpr std::size_t kPageHeaderBytes = 16;
constexpr std::size_t kPageHeaderBytes32 = 12;  // of a machine with 32 bits
constexpr std::size_t kNodeHeaderBytes = 8;
constexpr std::uint32_t kMostPageBytes = 0x10000;
constexpr std::size_t kDeepest = 32;  // CURSOR_STACK

enum PageFlag : std::uint16_t { kBranch = 0x01, kLeaf = 0x02, kOverflow = 0x04, kPackedLeaf = 0x20 };
enum NodeFlag : std::uint16_t { kBigData = 0x01, kSubData = 0x02, kDupData = 0x04 };
enum DatabaseFlag : std::uint16_t { kDupSort = 0x04 };

using Bytes = std::span<const std::byte>;

std::uint16_t u16(Bytes page, std::size_t at) {
    return load_le<std::uint16_t>(page.subspan(at));
}
std::uint32_t u32(Bytes page, std::size_t at) {
    return load_le<std::uint32_t>(page.subspan(at));
}
std::uint64_t u64(Bytes page, std::size_t at) {
    return load_le<std::uint64_t>(page.subspan(at));
}

std::optional<Meta> parse_meta(Bytes page) {
    if (page.size() < kMetaBytes || u32(page, 16) != kMagic) return std::nullopt;
    constexpr std::size_t kFreeDb = 40;  // MDB_db of the free list; its first field is the page size
    constexpr std::size_t kMainDb = 88;
    Meta meta;
    meta.page_bytes = u32(page, kFreeDb);
    meta.flags = u16(page, kMainDb + 4);
    meta.depth = u16(page, kMainDb + 6);
    meta.entries = u64(page, kMainDb + 32);
    meta.root = u64(page, kMainDb + 40);
    meta.last_page = u64(page, 136);
    meta.transaction = u64(page, 144);
    const bool sound = std::has_single_bit(meta.page_bytes) && meta.page_bytes >= 256 &&
                       meta.page_bytes <= kMostPageBytes && meta.depth <= kDeepest;
    if (!sound) return std::nullopt;
    return meta;
}

class Walk {
public:
    Walk(FileWindow& file, const Meta& meta, const std::function<void(const Entry&)>& on_entry)
        : file_(file), meta_(meta), on_entry_(on_entry) {}

    void page(std::uint64_t number, std::size_t level) {
        if (level > kDeepest) throw broken(number, "the tree of pages is deeper than any can be");
        // A page that is reached twice would be walked for ever.
        if (++visited_ > meta_.last_page + 1) throw broken(number, "a page is part of the tree twice");
        const std::vector<std::byte> copy = read(number);
        const Bytes bytes(copy);
        const std::uint16_t flags = u16(bytes, 10);
        const std::size_t lower = u16(bytes, 12);
        if (u64(bytes, 0) != number) throw broken(number, "a page says that it is another one");
        if ((flags & kPackedLeaf) != 0) throw several_values();
        const bool branch = (flags & (kBranch | kLeaf | kOverflow)) == kBranch;
        const bool leaf = (flags & (kBranch | kLeaf | kOverflow)) == kLeaf;
        if (!branch && !leaf) throw broken(number, "a page of the tree is neither a branch nor a leaf");
        if (lower < kPageHeaderBytes || lower > bytes.size()) throw broken(number, "a page's header is damaged");
        const std::size_t nodes = (lower - kPageHeaderBytes) / 2;
        for (std::size_t i = 0; i < nodes; ++i) {
            const std::size_t at = u16(bytes, kPageHeaderBytes + 2 * i);
            if (at < lower || at + kNodeHeaderBytes > bytes.size())
                throw broken(number, "a node lies outside of its page");
            if (branch) {
                const std::uint64_t child = u16(bytes, at) | std::uint64_t{u16(bytes, at + 2)} << 16U |
                                            std::uint64_t{u16(bytes, at + 4)} << 32U;
                page(child, level + 1);
            } else {
                entry(number, bytes, at);
            }
        }
    }

private:
    void entry(std::uint64_t number, Bytes page, std::size_t at) {
        const std::uint64_t length = u16(page, at) | std::uint64_t{u16(page, at + 2)} << 16U;
        const std::uint16_t flags = u16(page, at + 4);
        const std::size_t key_bytes = u16(page, at + 6);
        const std::size_t data_at = at + kNodeHeaderBytes + key_bytes;
        if ((flags & (kSubData | kDupData)) != 0) throw several_values();
        const bool big = (flags & kBigData) != 0;
        const std::uint64_t here = big ? sizeof(std::uint64_t) : length;
        if (data_at > page.size() || here > page.size() - data_at)
            throw broken(number, "an entry reaches out of its page");
        Entry entry;
        entry.key = {reinterpret_cast<const char*>(page.data()) + at + kNodeHeaderBytes, key_bytes};
        entry.length_bytes = length;
        if (big) {
            const std::uint64_t first = u64(page, data_at);
            if (first > meta_.last_page) throw broken(number, "a value lies on a page behind the last");
            entry.offset_bytes = first * meta_.page_bytes + kPageHeaderBytes;
            if (length > file_.size_bytes() || entry.offset_bytes > file_.size_bytes() - length) {
                throw broken(first, "a value reaches beyond the file");
            }
        } else {
            entry.offset_bytes = number * meta_.page_bytes + data_at;
        }
        on_entry_(entry);
    }

    std::vector<std::byte> read(std::uint64_t number) {
        constexpr std::size_t kAhead = 64U << 10U;
        if (number > meta_.last_page) throw broken(number, "a page lies behind the last");
        const Bytes bytes = file_.at(number * meta_.page_bytes, meta_.page_bytes, kAhead);
        if (bytes.size() < meta_.page_bytes) throw broken(number, "the file ends before this page does");
        return {bytes.begin(), bytes.end()};
    }

    Error broken(std::uint64_t page, std::string what) const {
        return Error(ErrorKind::corrupt, std::move(what)).at(file_.path(), page * meta_.page_bytes);
    }

    Error several_values() const {
        return Error(ErrorKind::usage,
                     "this LMDB file holds named databases or several values a key, not one sample a key")
            .at(file_.path());
    }

    FileWindow& file_;
    const Meta& meta_;
    const std::function<void(const Entry&)>& on_entry_;
    std::uint64_t visited_ = 0;
};

}  // namespace

bool looks_like_data_file(Bytes start) {
    if (start.size() < kPageHeaderBytes + 4) return false;
    const std::uint32_t magic = u32(start, kPageHeaderBytes);
    return magic == kMagic || magic == kMagicOtherEndian || u32(start, kPageHeaderBytes32) == kMagic;
}

Meta read_meta(FileWindow& file) {
    const auto refuse = [&](std::string_view what) {
        return Error(ErrorKind::usage, std::string(what))
            .at(file.path())
            .advise("Copy it with mdb_dump and mdb_load on a 64-bit x86 or ARM machine");
    };
    const Bytes start = file.at(0, kMetaBytes);
    if (start.size() < kMetaBytes)
        throw Error(ErrorKind::corrupt, "the file ends inside LMDB's first page").at(file.path());
    if (u32(start, kPageHeaderBytes) == kMagicOtherEndian) throw refuse("an LMDB file of a big-endian machine");
    if (u32(start, kPageHeaderBytes) != kMagic && u32(start, kPageHeaderBytes32) == kMagic) {
        throw refuse("an LMDB file of a 32-bit machine");
    }
    const std::optional<Meta> first = parse_meta(start);
    const std::optional<Meta> second = parse_meta(file.at(first ? first->page_bytes : 4096, kMetaBytes));
    // The library takes the size of pages from the first, whichever is the newer, and divides by what is there.
    if (!first) {
        throw Error(ErrorKind::corrupt,
                    second ? "LMDB's first meta page is damaged" : "neither of LMDB's meta pages is sound")
            .at(file.path(), 0)
            .advise("Copy the dataset again");
    }
    Meta meta = second && second->transaction > first->transaction ? *second : *first;
    meta.page_bytes = first->page_bytes;
    if (meta.last_page >= file.size_bytes() / meta.page_bytes) {
        throw Error(ErrorKind::corrupt, fmt::format("the file is truncated: LMDB's last page is {}, and {} are there",
                                                    meta.last_page, file.size_bytes() / meta.page_bytes))
            .at(file.path(), file.size_bytes());
    }
    if ((meta.flags & kDupSort) != 0) {
        throw Error(ErrorKind::usage, "this LMDB file holds several values a key, not one sample a key")
            .at(file.path());
    }
    return meta;
}

void for_each_entry(FileWindow& file, const Meta& meta, const std::function<void(const Entry&)>& on_entry) {
    if (meta.root == kNoPage) return;
    Walk(file, meta, on_entry).page(meta.root, 0);
}

}  // namespace feedline::lmdb
