#include "loaders/webdataset/tar_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "loaders/shards/index_file.h"
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

namespace {

// A part as an index file has it.
struct IndexedPart {
    std::string_view extension;
    std::uint64_t data_bytes = 0;
    std::uint64_t size_bytes = 0;
    std::string_view name;  // empty: not told
};

// Whether the archive holds that part there.
bool is_there(Window& shard, const IndexedPart& part) {
    const std::span<const std::byte> bytes = shard.at(part.data_bytes - tar::kBlockBytes, tar::kBlockBytes);
    if (bytes.size() < tar::kBlockBytes) return false;
    const std::optional<tar::Header> header = tar::parse_header(bytes.first<tar::kBlockBytes>());
    if (!header || !header->is_file() || header->size_bytes != part.size_bytes) return false;
    // A long or foreign name is in an extension header, and an excerpt of it here.
    constexpr std::size_t kShort = 100;
    const bool plain = part.name.size() < kShort && std::all_of(part.name.begin(), part.name.end(), [](char c) {
                           return static_cast<unsigned char>(c) < 0x80U;
                       });
    return part.name.empty() || !plain || header->name == part.name;
}

// Behind the last part: the end of the archive, in one of its forms.
bool ends_at(Window& shard, std::uint64_t offset) {
    const std::span<const std::byte> bytes = shard.at(offset, tar::kBlockBytes);
    return bytes.empty() || (bytes.size() == tar::kBlockBytes && tar::is_zero(bytes.first<tar::kBlockBytes>()));
}

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

bool TarChain::read_index(std::string_view text, Window& shard, Chain& chain, std::string& why) const {
    Words first(take_line(text));
    const std::string_view version = first.next();
    const bool named = version == "v1.2";
    std::uint64_t samples = 0;
    if ((!named && version != "v1.1") || !first.number(samples)) {
        why = "its first line is not \"v1.2 SAMPLES\"";
        return false;
    }
    std::vector<IndexedPart> looked_at;  // the first part of each sample
    while (!text.empty()) {
        Words words(take_line(text));
        std::string_view key;
        bool begun = false;
        const auto wrong = [&](std::string_view what) {
            why = fmt::format("its sample {} {}", chain.links.size() + (begun ? 0U : 1U), what);
            return false;
        };
        for (std::string_view extension = words.next(); !extension.empty(); extension = words.next()) {
            IndexedPart part{extension, 0, 0, {}};
            if (!words.number(part.data_bytes) || !words.number(part.size_bytes)) return wrong("is no list of parts");
            if (named) part.name = words.next();
            const MemberName name = split_name(part.name).value_or(MemberName{});
            if (named && (name.key.empty() || name.extension != extension || (begun && name.key != key))) {
                return wrong("has parts that are not called as they should be");
            }
            const bool fits =
                part.data_bytes % tar::kBlockBytes == 0 && part.data_bytes >= chain.end_bytes + tar::kBlockBytes &&
                part.data_bytes <= shard.size_bytes() && part.size_bytes <= shard.size_bytes() - part.data_bytes;
            if (!fits) return wrong("does not lie in the archive behind the one before");
            if (!begun) {
                begun = true;
                key = name.key;
                chain.names +=
                    named ? std::string(key) : fmt::format("{}#{}", file_name(shard.path()), chain.links.size());
                // What stands between is read with it: extension headers, and members of no sample.
                chain.links.push_back({chain.end_bytes, chain.names.size()});
                looked_at.push_back(part);
            }
            chain.end_bytes = part.data_bytes + tar::padded(part.size_bytes);
        }
    }
    if (chain.links.size() != samples) {
        why = fmt::format("it says that it has {} samples and has {}", samples, chain.links.size());
        return false;
    }
    if (chain.end_bytes > shard.size_bytes() || !ends_at(shard, chain.end_bytes)) {
        why = fmt::format("the archive does not end at {} bytes as it says", chain.end_bytes);
        return false;
    }
    for (const std::size_t i : some_of(looked_at.size())) {
        if (is_there(shard, looked_at[i])) continue;
        why = fmt::format("its sample {} is not there", i + 1);
        return false;
    }
    return true;
}

}  // namespace feedline::webdataset
