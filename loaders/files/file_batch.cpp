#include "loaders/files/file_batch.h"

#include <algorithm>
#include <cstring>
#include <queue>

#include "core/error.h"

namespace feedline {
namespace {

// Appends to a FileList whose final size is known.
class FileListBuilder {
public:
    FileListBuilder(std::size_t files, std::size_t names_bytes) {
        list_.names = std::make_unique_for_overwrite<char[]>(names_bytes);
        list_.name_offsets.reserve(files);
        list_.lengths.reserve(files);
    }
    void add(const FileBatch& batch, const FileBatch::Entry& entry) {
        const char* name = batch.name(entry);
        const std::size_t bytes = std::strlen(name) + 1;
        if (used_ + bytes > UINT32_MAX) {
            throw Error(ErrorKind::unsupported, "a directory holds more than 4 GiB of file names");
        }
        std::memcpy(list_.names.get() + used_, name, bytes);
        list_.name_offsets.push_back(static_cast<std::uint32_t>(used_));
        if (entry.length == kLongLength) {
            list_.long_lengths.emplace_back(list_.lengths.size(), batch.length_bytes(entry));
        }
        list_.lengths.push_back(entry.length);
        used_ += bytes;
    }
    FileList take() { return std::move(list_); }

private:
    FileList list_;
    std::size_t used_ = 0;
};

}  // namespace

void FileBatch::add(const char* entry_name, std::uint64_t inode, Hint hint) {
    entries.push_back({static_cast<std::uint32_t>(names.size()),
                       static_cast<std::uint32_t>(inode << 2U) | static_cast<std::uint32_t>(hint)});
    names.insert(names.end(), entry_name, entry_name + std::strlen(entry_name) + 1);
}

void FileBatch::set_length(Entry& entry, std::uint64_t bytes) {
    if (bytes >= kLongLength) long_lengths.emplace_back(entry.name_offset, bytes);
    entry.length = bytes < kLongLength ? static_cast<std::uint32_t>(bytes) : kLongLength;
}

void FileBatch::clear() {
    names.clear();
    entries.clear();
    long_lengths.clear();
}

std::uint64_t FileBatch::length_bytes(const Entry& entry) const {
    if (entry.length != kLongLength) return entry.length;
    const auto found = std::find_if(long_lengths.begin(), long_lengths.end(),
                                    [&](const auto& item) { return item.first == entry.name_offset; });
    return found->second;
}

void FileBatch::sort_by_inode() {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.length < b.length; });
}

// Names of a directory begin alike; eight bytes from where they differ decide most comparisons without a cache miss.
void FileBatch::sort_by_name(std::vector<SortKey>& scratch) {
    if (entries.empty()) return;
    const char* first = name(entries.front());
    std::size_t common = std::strlen(first);
    for (const Entry& entry : entries) {
        std::size_t same = 0;
        while (same < common && name(entry)[same] == first[same]) ++same;
        common = same;
    }
    scratch.clear();
    for (const Entry& entry : entries) {
        const char* rest = name(entry) + common;
        std::uint64_t bytes = 0;
        for (unsigned shift = 64; shift != 0 && *rest != '\0'; ++rest) {
            shift -= 8;
            bytes |= std::uint64_t{static_cast<unsigned char>(*rest)} << shift;
        }
        scratch.push_back({bytes, entry});
    }
    std::sort(scratch.begin(), scratch.end(), [&](const SortKey& a, const SortKey& b) {
        if (a.bytes != b.bytes) return a.bytes < b.bytes;
        return std::strcmp(name(a.entry) + common, name(b.entry) + common) < 0;
    });
    for (std::size_t i = 0; i < scratch.size(); ++i) entries[i] = scratch[i].entry;
}

FileList merge(const std::vector<const FileBatch*>& batches) {
    std::size_t files = 0;
    std::size_t names_bytes = 0;
    for (const FileBatch* batch : batches) {
        files += batch->entries.size();
        names_bytes += batch->names.size();
    }
    FileListBuilder builder(files, names_bytes);
    if (batches.size() == 1) {
        for (const FileBatch::Entry& entry : batches.front()->entries) builder.add(*batches.front(), entry);
        return builder.take();
    }

    struct Cursor {
        const FileBatch* batch;
        std::size_t next;
        const FileBatch::Entry& entry() const { return batch->entries[next]; }
        const char* name() const { return batch->name(entry()); }
    };
    const auto later = [](const Cursor& a, const Cursor& b) { return std::strcmp(a.name(), b.name()) > 0; };
    std::priority_queue<Cursor, std::vector<Cursor>, decltype(later)> heads(later);
    for (const FileBatch* batch : batches) {
        if (!batch->entries.empty()) heads.push({batch, 0});
    }
    while (!heads.empty()) {
        Cursor cursor = heads.top();
        heads.pop();
        builder.add(*cursor.batch, cursor.entry());
        if (++cursor.next < cursor.batch->entries.size()) heads.push(cursor);
    }
    return builder.take();
}

}  // namespace feedline
