#include "loaders/webdataset/sample_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "loaders/webdataset/members.h"
#include "loaders/webdataset/naming.h"

namespace feedline::webdataset {

Parts parts_of(std::span<const std::byte> record) {
    const tar::ReadAt read = [&](std::uint64_t offset, std::size_t want) {
        if (offset >= record.size()) return std::span<const std::byte>{};
        return record.subspan(offset, std::min<std::size_t>(want, record.size() - offset));
    };
    Parts found;
    std::string key;
    tar::Member member;
    for (std::uint64_t at = 0; at < record.size(); at = member.end_bytes) {
        const Next next = tar::next_member(read, at, record.size(), member, found.problem);
        if (next == Next::end) found.problem = "the archive ends where a member should be";
        if (next != Next::record) return found;
        if (!member.header.is_file()) continue;
        const std::optional<MemberName> name = split_name(member.header.name);
        if (!name) continue;
        if (found.parts.empty()) key = name->key;
        const auto same = [&](const Part& part) { return part.name == name->extension; };
        if (name->key != key) {
            found.problem = fmt::format("the member {} is of another sample", printable(member.header.name));
        } else if (std::any_of(found.parts.begin(), found.parts.end(), same)) {
            found.problem = fmt::format("the member {} is there twice", printable(member.header.name));
        } else {
            found.parts.push_back(
                {std::string(name->extension), record.subspan(member.data_bytes, member.header.size_bytes)});
            continue;
        }
        return found;
    }
    return found;
}

std::span<const std::byte> payload_of(const Parts& parts) {
    const auto first = std::find_if(parts.parts.begin(), parts.parts.end(),
                                    [](const Part& part) { return !is_annotation(part.name); });
    if (first != parts.parts.end()) return first->bytes;
    return parts.parts.empty() ? std::span<const std::byte>{} : parts.parts.front().bytes;
}

}  // namespace feedline::webdataset
