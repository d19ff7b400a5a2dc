#include "loaders/webdataset/tar_chain.h"

#include "loaders/webdataset/members.h"
#include "loaders/webdataset/naming.h"

namespace feedline::webdataset {

Next TarChain::next(Window& file, std::uint64_t offset_bytes, std::size_t ahead, NextRecord& record,
                    std::string& what) const {
    const tar::ReadAt read = [&](std::uint64_t offset, std::size_t want) { return file.at(offset, want, ahead); };
    tar::Member member;
    const Next next = tar::next_member(read, offset_bytes, file.size_bytes(), member, what);
    if (next != Next::record) return next;
    record.end_bytes = member.end_bytes;
    const std::optional<MemberName> name = member.header.is_file() ? split_name(member.header.name) : std::nullopt;
    record.name = name ? name->key : std::string_view();
    return next;
}

bool TarChain::may_be_header(std::span<const std::byte> header, std::uint64_t /*file_bytes*/) const {
    const tar::Block block = header.first<tar::kBlockBytes>();
    return tar::has_magic(block) && tar::parse_header(block);
}

}  // namespace feedline::webdataset
