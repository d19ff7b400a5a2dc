#include "loaders/webdataset/members.h"

#include <fmt/format.h>

#include <utility>

namespace feedline::tar {
namespace {

// Longer names exist in no filesystem; what claims more is no extension header.
constexpr std::uint64_t kLongestExtensionBytes = 1U << 20U;

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
    bool extended = false;
    for (std::uint64_t at = offset;;) {
        const std::uint64_t left = at < size_bytes ? size_bytes - at : 0;
        if (left == 0 && !extended) return Next::end;
        const std::span<const std::byte> bytes = read(at, kBlockBytes);
        if (bytes.empty() && !extended) return Next::end;
        if (bytes.size() < kBlockBytes) {
            return fault(fmt::format("the archive ends inside a header, of which {} bytes are there", bytes.size()));
        }
        const Block block = bytes.first<kBlockBytes>();
        if (is_zero(block)) {
            return extended ? fault("the archive ends behind an extension header") : Next::end;
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
        if (header->size_bytes > kLongestExtensionBytes) return fault("an extension header is larger than 1 MiB");
        const std::span<const std::byte> content = read(at, header->size_bytes);
        if (content.size() < header->size_bytes) return fault("the archive ends inside an extension header");
        if (header->type == 'L') {
            extension.name = std::string(as_text(content).substr(0, as_text(content).find('\0')));
        } else if (header->type == 'x' && !parse_pax(as_text(content), extension)) {
            return fault("an extension header is not well-formed");
        }
        at += padded(header->size_bytes);
        extended = true;
    }
}

}  // namespace feedline::tar
