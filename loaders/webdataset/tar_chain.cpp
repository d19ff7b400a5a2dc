#include "loaders/webdataset/tar_chain.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "loaders/webdataset/members.h"
#include "loaders/webdataset/naming.h"

namespace feedline::webdataset {
namespace {

std::uint64_t note_of(const tar::Header& header) {
    if (!header.is_file()) return kNoSample;
    const std::optional<MemberName> name = split_name(header.name);
    if (!name) return kNoSample;
    return std::max<std::uint64_t>(std::hash<std::string_view>{}(name->key), kNoSample + 1);
}

}  // namespace

Next TarChain::next(FileWindow& file, std::uint64_t offset_bytes, std::size_t ahead, NextRecord& record,
                    std::string& what) const {
    const tar::ReadAt read = [&](std::uint64_t offset, std::size_t want) { return file.at(offset, want, ahead); };
    tar::Member member;
    const Next next = tar::next_member(read, offset_bytes, file.size_bytes(), member, what);
    if (next == Next::record) record = {member.end_bytes, note_of(member.header)};
    return next;
}

bool TarChain::may_be_header(std::span<const std::byte> header, std::uint64_t /*file_bytes*/) const {
    const tar::Block block = header.first<tar::kBlockBytes>();
    return tar::has_magic(block) && tar::parse_header(block);
}

}  // namespace feedline::webdataset
