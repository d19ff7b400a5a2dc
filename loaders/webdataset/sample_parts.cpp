#include "loaders/webdataset/sample_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/error.h"
#include "loaders/webdataset/members.h"
#include "loaders/webdataset/naming.h"

namespace feedline::webdataset {
namespace {

// A number or a name, with or without the end of a line.
Label label_of(std::span<const std::byte> content) {
    std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    if (text.empty()) return {};
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
    return std::string(text);
}

// What the parts so far are called. Mostly they are few; of a video every frame may be one.
class Names {
public:
    // False where one of `parts`, which were all asked for before, is called so too.
    bool is_new(std::span<const Part> parts, std::string_view name) {
        constexpr std::size_t kFew = 16;
        if (parts.size() < kFew) {
            return std::none_of(parts.begin(), parts.end(), [&](const Part& part) { return part.name == name; });
        }
        if (names_.empty()) {
            for (const Part& part : parts) names_.insert(part.name);
        }
        return names_.emplace(name).second;
    }

private:
    std::unordered_set<std::string> names_;  // empty: still few
};

}  // namespace

SampleViews views_of(std::span<const std::byte> record) {
    const tar::ReadAt read = [&](std::uint64_t offset, std::size_t want) {
        if (offset >= record.size()) return std::span<const std::byte>{};
        return record.subspan(offset, std::min<std::size_t>(want, record.size() - offset));
    };
    SampleViews found;
    std::size_t trained_on = 0;  // of the parts
    bool annotations_only = true;
    std::string key;
    Names names;
    tar::Member member;
    for (std::uint64_t at = 0; at < record.size() && found.problem.empty(); at = member.end_bytes) {
        const Next next = tar::next_member(read, at, record.size(), member, found.problem);
        if (next == Next::end) found.problem = "the archive ends where a member should be";
        if (next != Next::record) break;
        if (!member.header.is_file()) continue;
        const std::optional<MemberName> name = split_name(member.header.name);
        if (!name) continue;
        if (found.parts.empty()) key = name->key;
        if (name->key != key) {
            found.problem = fmt::format("the member {} is of another sample", printable(member.header.name));
        } else if (!names.is_new(found.parts, name->extension)) {
            found.problem = fmt::format("the member {} is there twice", printable(member.header.name));
        } else {
            const std::span<const std::byte> content = record.subspan(member.data_bytes, member.header.size_bytes);
            if (name->extension == "cls") found.label = label_of(content);
            const bool first = annotations_only && !is_annotation(name->extension);
            if (first || found.parts.empty()) {
                trained_on = found.parts.size();
                found.original_path = path_in(*name);
            }
            if (first) annotations_only = false;
            found.parts.push_back({std::string(name->extension), content});
        }
    }
    const auto begin = found.parts.begin();
    const auto at = begin + static_cast<std::ptrdiff_t>(trained_on);
    if (trained_on > 0) std::rotate(begin, at, at + 1);
    return found;
}

}  // namespace feedline::webdataset
