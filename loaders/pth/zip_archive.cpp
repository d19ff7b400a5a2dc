#include "loaders/pth/zip_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/little_endian.h"
#include "core/units.h"
#include "loaders/pth/zip_layout.h"

namespace feedline::pth {
namespace {

using namespace zip;

// Names of entries and what belongs to them: some 100 bytes each.
constexpr std::uint64_t kMaxDirectoryBytes = std::uint64_t{1} << 30U;

template <typename T>
T field(std::span<const std::byte> bytes, std::size_t offset) {
    return load_le<T>(bytes.subspan(offset));
}

std::string_view text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool begins_with(std::span<const std::byte> bytes, std::uint32_t signature) {
    return bytes.size() >= sizeof(signature) && field<std::uint32_t>(bytes, 0) == signature;
}

// Takes from the ZIP64 extra field, in their fixed order, the numbers that did not fit the header. False: one is
// missing.
bool widen(std::span<const std::byte> extra, std::span<std::uint64_t* const> numbers) {
    constexpr std::size_t kHeaderBytes = 4;
    const bool complete =
        std::all_of(numbers.begin(), numbers.end(), [](const std::uint64_t* number) { return *number != kTooLarge32; });
    if (complete) return true;
    while (extra.size() >= kHeaderBytes) {
        const auto id = field<std::uint16_t>(extra, 0);
        const std::size_t size = field<std::uint16_t>(extra, 2);
        if (size > extra.size() - kHeaderBytes) return false;
        std::span<const std::byte> values = extra.subspan(kHeaderBytes, size);
        extra = extra.subspan(kHeaderBytes + size);
        if (id != kZip64Extra) continue;
        for (std::uint64_t* number : numbers) {
            if (*number != kTooLarge32) continue;
            if (values.size() < sizeof(*number)) return false;
            *number = field<std::uint64_t>(values, 0);
            values = values.subspan(sizeof(*number));
        }
        return true;
    }
    return false;
}

}  // namespace

ZipArchive::ZipArchive(FileWindow& file) : file_(file) {
    read_directory(find_directory());
}

ZipArchive::Directory ZipArchive::find_directory() const {
    const std::uint64_t size = file_.size_bytes();
    const std::uint64_t tail_bytes = std::min<std::uint64_t>(size, kEndBytes + kMaxCommentBytes);
    const std::span<const std::byte> tail = file_.at(size - tail_bytes, tail_bytes);
    std::optional<std::uint64_t> found;  // in tail
    for (std::uint64_t at = tail_bytes < kEndBytes ? 0 : tail_bytes - kEndBytes + 1; at-- > 0 && !found;) {
        const std::span<const std::byte> end = tail.subspan(at);
        if (begins_with(end, kEndSignature) && field<std::uint16_t>(end, 20) == end.size() - kEndBytes) found = at;
    }
    if (!found) {
        throw Error(ErrorKind::corrupt, "no central directory at the end of this ZIP: it is truncated")
            .at(file_.path(), size)
            .advise("Copy or download it again");
    }
    const std::uint64_t end_offset = size - tail_bytes + *found;
    const std::span<const std::byte> end = tail.subspan(*found);
    Directory directory{field<std::uint32_t>(end, 16), field<std::uint32_t>(end, 12), field<std::uint16_t>(end, 10),
                        end_offset};
    if (field<std::uint16_t>(end, 4) != field<std::uint16_t>(end, 6)) {
        throw Error(ErrorKind::usage, "a ZIP in several volumes, which is not read").at(file_.path(), end_offset);
    }
    if (*found >= kLocatorBytes && begins_with(tail.subspan(*found - kLocatorBytes), kLocatorSignature)) {
        const std::uint64_t locator_offset = end_offset - kLocatorBytes;
        const auto wide_offset = field<std::uint64_t>(tail.subspan(*found - kLocatorBytes), 8);
        if (wide_offset > locator_offset || locator_offset - wide_offset < kWideEndBytes) {
            throw Error(ErrorKind::corrupt, "the ZIP64 locator points beyond the file")
                .at(file_.path(), locator_offset);
        }
        const std::span<const std::byte> wide = file_.at(wide_offset, kWideEndBytes);
        if (!begins_with(wide, kWideEndSignature)) {
            throw Error(ErrorKind::corrupt, "the ZIP64 locator points at something else").at(file_.path(), wide_offset);
        }
        directory = {field<std::uint64_t>(wide, 48), field<std::uint64_t>(wide, 40), field<std::uint64_t>(wide, 32),
                     wide_offset};
    }
    if (directory.offset_bytes > directory.end_bytes ||
        directory.end_bytes - directory.offset_bytes != directory.size_bytes ||
        directory.entries > directory.size_bytes / kCentralBytes) {
        throw Error(ErrorKind::corrupt, "the ZIP's central directory does not end where its end says")
            .at(file_.path(), directory.end_bytes);
    }
    if (directory.size_bytes > kMaxDirectoryBytes) {
        throw Error(ErrorKind::usage, fmt::format("a ZIP with a directory of {}, more than {} is not read",
                                                  format_size(static_cast<double>(directory.size_bytes)),
                                                  format_size(static_cast<double>(kMaxDirectoryBytes))))
            .at(file_.path(), directory.offset_bytes);
    }
    return directory;
}

void ZipArchive::read_directory(const Directory& directory) {
    const std::span<const std::byte> read = file_.at(directory.offset_bytes, directory.size_bytes);
    directory_.assign(read.begin(), read.end());
    directory_offset_ = directory.offset_bytes;
    entries_.reserve(directory.entries);
    std::size_t at = 0;
    const auto corrupt = [&](std::string what) {
        return Error(ErrorKind::corrupt, std::move(what)).at(file_.path(), directory_offset_ + at);
    };
    for (std::uint64_t i = 0; i < directory.entries; ++i) {
        const std::span<const std::byte> rest = std::span<const std::byte>(directory_).subspan(at);
        if (rest.size() < kCentralBytes || !begins_with(rest, kCentralSignature)) {
            throw corrupt("no entry of the ZIP's central directory where one should be");
        }
        const std::size_t name = field<std::uint16_t>(rest, 28);
        const std::size_t extra = field<std::uint16_t>(rest, 30);
        const std::size_t comment = field<std::uint16_t>(rest, 32);
        if (name + extra + comment > rest.size() - kCentralBytes)
            throw corrupt("an entry reaches beyond the directory");
        ZipEntry entry{.name = text(rest.subspan(kCentralBytes, name)),
                       .size_bytes = field<std::uint32_t>(rest, 24),
                       .stored_bytes = field<std::uint32_t>(rest, 20),
                       .header_offset = field<std::uint32_t>(rest, 42),
                       .crc32 = field<std::uint32_t>(rest, 16),
                       .flags = field<std::uint16_t>(rest, 8),
                       .method = field<std::uint16_t>(rest, 10)};
        if (!widen(rest.subspan(kCentralBytes + name, extra),
                   std::array{&entry.size_bytes, &entry.stored_bytes, &entry.header_offset})) {
            throw corrupt("an entry lacks its ZIP64 sizes");
        }
        if (entry.header_offset > directory_offset_ || entry.stored_bytes > directory_offset_ - entry.header_offset) {
            throw corrupt(fmt::format("entry {} reaches beyond the file", printable(entry.name)));
        }
        // Two of one name would be read as either by different readers.
        if (!by_name_.emplace(entry.name, entries_.size()).second) {
            throw corrupt(fmt::format("two entries are called {}", printable(entry.name)));
        }
        header_offsets_.push_back(entry.header_offset);
        entries_.push_back(entry);
        at += kCentralBytes + name + extra + comment;
    }
    if (at != directory_.size()) throw corrupt("the ZIP's central directory has more than its entries");
    std::sort(header_offsets_.begin(), header_offsets_.end());
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &entries_[found->second];
}

std::uint64_t ZipArchive::data_offset(const ZipEntry& entry) const {
    const auto refused = [&](ErrorKind kind, std::string_view what) {
        return Error(kind, fmt::format("entry {} {}", printable(entry.name), what))
            .at(file_.path(), entry.header_offset);
    };
    if ((entry.flags & kEncryptedFlags) != 0) throw refused(ErrorKind::usage, "is encrypted, which is not read");
    if (entry.method != 0) {
        throw refused(ErrorKind::usage,
                      fmt::format("is compressed (method {}), and torch.load reads stored entries only", entry.method))
            .advise("Load it in PyTorch from the unpacked archive, and save it with torch.save");
    }
    if (entry.size_bytes != entry.stored_bytes) throw refused(ErrorKind::corrupt, "is stored and has two sizes");
    const std::span<const std::byte> header = file_.at(entry.header_offset, kLocalBytes + entry.name.size());
    if (header.size() < kLocalBytes + entry.name.size() || !begins_with(header, kLocalSignature) ||
        field<std::uint16_t>(header, 26) != entry.name.size() || text(header.subspan(kLocalBytes)) != entry.name) {
        throw refused(ErrorKind::corrupt, "has no local header of its name");
    }
    const std::uint64_t begin = entry.header_offset + header.size() + field<std::uint16_t>(header, 28);
    if (begin > directory_offset_ || entry.size_bytes > directory_offset_ - begin) {
        throw refused(ErrorKind::corrupt, "reaches into the ZIP's central directory");
    }
    check_end(entry, begin + entry.size_bytes);
    return begin;
}

// Only the local header says where the data begin. That they end where the next thing begins bears it out.
void ZipArchive::check_end(const ZipEntry& entry, std::uint64_t end_bytes) const {
    const auto after = std::upper_bound(header_offsets_.begin(), header_offsets_.end(), entry.header_offset);
    const std::uint64_t next = after == header_offsets_.end() ? directory_offset_ : *after;
    if (next == end_bytes) return;
    const std::uint64_t gap = next < end_bytes ? 0 : next - end_bytes;
    if ((entry.flags & kDescriptorFlag) != 0 && gap <= kMaxDescriptorBytes) {
        std::span<const std::byte> descriptor = file_.at(end_bytes, gap);
        if (begins_with(descriptor, kDescriptorSignature))
            descriptor = descriptor.subspan(sizeof(kDescriptorSignature));
        const bool narrow = descriptor.size() == 12 && field<std::uint32_t>(descriptor, 8) == entry.size_bytes;
        const bool wide = descriptor.size() == 20 && field<std::uint64_t>(descriptor, 12) == entry.size_bytes;
        if ((narrow || wide) && field<std::uint32_t>(descriptor, 0) == entry.crc32) return;
    }
    throw Error(ErrorKind::corrupt,
                fmt::format("entry {} does not end where the next one begins", printable(entry.name)))
        .at(file_.path(), end_bytes);
}

}  // namespace feedline::pth
