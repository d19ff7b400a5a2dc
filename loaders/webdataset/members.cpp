#include "loaders/webdataset/members.h"

#include <fmt/format.h>

#include <utility>

namespace feedline::tar {
namespace {

// Longer names exist in no filesystem, and a member has a header of each kind; what claims more is no extension header.
constexpr std::uint64_t kMostExtensionBytes = 1U << 20U;
constexpr int kMostExtensions = 16;

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Next next_member(const ReadAt& read, std::uint64_t offset, std::uint64_t size_bytes, Member& member,
                 std::string& what) {
    const auto fault = [&](std::string message) {
        what = std::move(message);
        return Next::fault;
    };
    member = Member{};
    member.begin_bytes = offset;
    Extension extension;
    int extensions = 0;
    std::uint64_t extension_bytes = 0;
    for (std::uint64_t at = offset;;) {
        const std::uint64_t left = at < size_bytes ? size_bytes - at : 0;
        if (left == 0 && extensions == 0) return Next::end;
        const std::span<const std::byte> bytes = read(at, kBlockBytes);
        if (bytes.empty() && extensions == 0) return Next::end;
        if (bytes.size() < kBlockBytes) {
            return fault(fmt::format("the archive ends inside a header, of which {} bytes are there", bytes.size()));
        }
        const Block block = bytes.first<kBlockBytes>();
        if (is_zero(block)) {
            return extensions > 0 ? fault("the archive ends behind an extension header") : Next::end;
        }
        std::optional<Header> header = parse_header(block);
        if (!header) return fault("the checksum of a tar header does not match");
        at += kBlockBytes;
        if (!header->is_extension()) {
            if (extension.name) header->name = *extension.name;
            if (extension.size_bytes) header->size_bytes = *extension.size_bytes;
            const std::uint64_t content = header->has_content() ? header->size_bytes : 0;
            if (header->type == 'S') {
                return fault(
                    "a member with holes (GNU sparse, type S) is not stored as it was; pack it without --sparse");
            }
            // The size first: padding it may overflow.
            if (content > size_bytes - at || padded(content) > size_bytes - at) {
                return fault(fmt::format("a member of {} bytes begins here, and the file ends {} bytes on", content,
                                         size_bytes - offset));
            }
            member.data_bytes = at;
            member.end_bytes = at + padded(content);
            member.header = std::move(*header);
            return Next::record;
        }
        if (++extensions > kMostExtensions) return fault("a member has more than 16 extension headers");
        if (header->size_bytes > kMostExtensionBytes - extension_bytes) {
            return fault("extension headers are larger than 1 MiB");
        }
        extension_bytes += header->size_bytes;
        const std::span<const std::byte> content = read(at, header->size_bytes);
        if (content.size() < header->size_bytes) return fault("the archive ends inside an extension header");
        if (header->type == 'L') {
            extension.name = std::string(as_text(content).substr(0, as_text(content).find('\0')));
        } else if (header->type == 'x' && !parse_pax(as_text(content), extension)) {
            return fault("an extension header is not well-formed");
        }
        at += padded(header->size_bytes);
    }
}

}  // namespace feedline::tar
