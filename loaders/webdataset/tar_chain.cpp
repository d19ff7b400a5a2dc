#include "loaders/webdataset/tar_chain.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "loaders/webdataset/members.h"
#include "loaders/webdataset/naming.h"

namespace feedline::webdataset {
namespace {

// Small members are read through, large ones jumped over: about what a disk transfers in the time of one access.
constexpr std::uint64_t kReadThroughBytes = 32U << 10U;
constexpr std::size_t kReadAheadBytes = 256U << 10U;
constexpr std::size_t kSearchBytes = 1U << 20U;

// Equal for members of one sample. Only neighbours are compared.
std::uint64_t note_of(const tar::Header& header) {
    if (!header.is_file()) return kNoSample;
    const std::optional<MemberName> name = split_name(header.name);
    if (!name) return kNoSample;
    return std::max<std::uint64_t>(std::hash<std::string_view>{}(name->key), kNoSample + 1);
}

tar::ReadAt reader(FileWindow& file, std::size_t ahead) {
    return [&file, ahead](std::uint64_t offset, std::size_t want) { return file.at(offset, want, ahead); };
}

}  // namespace

void TarChain::follow(FileWindow& file, std::uint64_t until_bytes, Chain& chain) const {
    const std::uint64_t from = chain.end_bytes;
    const std::size_t before = chain.links.size();
    tar::Member member;
    while (chain.end_bytes < until_bytes) {
        const std::uint64_t walked = chain.links.size() - before;
        const bool small = walked == 0 || (chain.end_bytes - from) / walked < kReadThroughBytes;
        const tar::Next next = tar::next_member(reader(file, small ? kReadAheadBytes : 0), chain.end_bytes,
                                                file.size_bytes(), member, chain.fault);
        if (next == tar::Next::end) chain.finished = true;
        if (next != tar::Next::member) return;
        chain.links.push_back({member.begin_bytes, note_of(member.header)});
        chain.end_bytes = member.end_bytes;
    }
}

std::optional<std::uint64_t> TarChain::find(FileWindow& file, std::uint64_t from_bytes,
                                            std::uint64_t until_bytes) const {
    tar::Member member;
    std::string what;
    for (std::uint64_t base = tar::padded(from_bytes); base < until_bytes; base += kSearchBytes) {
        // A copy: looking at a candidate moves the window.
        const std::span<const std::byte> seen = file.at(base, kSearchBytes);
        const std::vector<std::byte> bytes(seen.begin(), seen.end());
        for (std::uint64_t i = 0; i + tar::kBlockBytes <= bytes.size() && base + i < until_bytes;
             i += tar::kBlockBytes) {
            const auto block = std::span<const std::byte>(bytes).subspan(i).first<tar::kBlockBytes>();
            if (!tar::has_magic(block) || !tar::parse_header(block)) continue;
            const auto read = reader(file, 0);
            if (tar::next_member(read, base + i, file.size_bytes(), member, what) != tar::Next::member) continue;
            const std::uint64_t end = member.end_bytes;
            if (tar::next_member(read, end, file.size_bytes(), member, what) != tar::Next::fault) return base + i;
        }
    }
    return std::nullopt;
}

}  // namespace feedline::webdataset
