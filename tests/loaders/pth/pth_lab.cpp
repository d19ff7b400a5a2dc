#include "tests/loaders/pth/pth_lab.h"

#include <fmt/format.h>

#include <array>

#include "core/crc32.h"
#include "core/little_endian.h"

namespace feedline::test {
namespace {

template <typename T>
std::string le(T value) {
    std::array<std::byte, sizeof(T)> bytes{};
    store_le(value, bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string u16(std::size_t value) {
    return le(static_cast<std::uint16_t>(value));
}
std::string u32(std::size_t value) {
    return le(static_cast<std::uint32_t>(value));
}
std::string u64(std::size_t value) {
    return le(static_cast<std::uint64_t>(value));
}

std::uint32_t crc_of(std::string_view text) {
    return crc32(std::as_bytes(std::span(text)));
}

std::string joined(const std::vector<std::string>& items) {
    std::string all;
    for (const std::string& item : items) all += item;
    return all;
}

std::string pickled_numbers(const std::vector<std::int64_t>& numbers) {
    std::vector<std::string> items;
    for (const std::int64_t number : numbers) items.push_back(pickled_number(number));
    return pickled_tuple(items);
}

}  // namespace

std::string pickled_text(std::string_view text) {
    return "X" + u32(text.size()) + std::string(text);
}

std::string pickled_number(std::int64_t number) {
    return "\x8a\x08" + le(static_cast<std::uint64_t>(number));
}

std::string pickled_global(std::string_view module, std::string_view name) {
    return fmt::format("c{}\n{}\n", module, name);
}

std::string pickled_tuple(const std::vector<std::string>& items) {
    return "(" + joined(items) + "t";
}

std::string pickled_list(const std::vector<std::string>& items) {
    return "](" + joined(items) + "e";
}

std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& items) {
    std::string all = "}(";
    for (const auto& [name, value] : items) all += pickled_text(name) + value;
    return all + "u";
}

std::string pickled_call(std::string_view module, std::string_view name, const std::vector<std::string>& arguments) {
    return pickled_global(module, name) + pickled_tuple(arguments) + "R";
}

std::string pickle_of(const std::string& value) {
    return "\x80\x02" + value + ".";
}

std::string pickled_tensor(const TensorText& tensor) {
    const std::string storage =
        pickled_tuple({pickled_text("storage"), pickled_global("torch", tensor.type), pickled_text(tensor.storage),
                       pickled_text(tensor.device), pickled_number(tensor.elements)}) +
        "Q";
    return pickled_call("torch._utils", "_rebuild_tensor_v2",
                        {storage, pickled_number(tensor.offset), pickled_numbers(tensor.sizes),
                         pickled_numbers(tensor.strides), "\x89", pickled_call("collections", "OrderedDict", {})});
}

std::string zip_of(const std::vector<ZipMember>& members, const ZipOptions& options) {
    std::string zip;
    std::string directory;
    for (const ZipMember& member : members) {
        const std::size_t begin = zip.size();
        const std::uint32_t crc = crc_of(member.content);
        const std::size_t flags = member.flags | (member.descriptor ? 8U : 0U);
        const std::size_t known = member.descriptor ? 0 : member.content.size();
        const std::string padding(member.padding, 'Z');
        const std::string extra = member.padding > 0 ? "FB" + u16(padding.size()) + padding : "";
        zip += u32(0x04034b50) + u16(0) + u16(flags) + u16(member.method) + u32(0) + u32(member.descriptor ? 0 : crc) +
               u32(known) + u32(known) + u16(member.name.size()) + u16(extra.size()) + member.name + extra +
               member.content;
        const auto size = [&](std::size_t bytes) { return member.wide ? u64(bytes) : u32(bytes); };
        if (member.descriptor) {
            zip += u32(0x08074b50) + u32(crc) + size(member.content.size()) + size(member.content.size());
        }
        const std::string wide =
            member.wide ? u16(1) + u16(24) + u64(member.content.size()) + u64(member.content.size()) + u64(begin) : "";
        const auto narrow = [&](std::size_t bytes) { return u32(member.wide ? 0xffffffffU : bytes); };
        directory += u32(0x02014b50) + u16(0) + u16(0) + u16(flags) + u16(member.method) + u32(0) + u32(crc) +
                     narrow(member.content.size()) + narrow(member.content.size()) + u16(member.name.size()) +
                     u16(wide.size()) + u16(0) + u16(0) + u16(0) + u32(0) + narrow(begin) + member.name + wide;
    }
    const std::size_t offset = zip.size();
    zip += directory;
    if (options.wide_end) {
        const std::size_t end = zip.size();
        zip += u32(0x06064b50) + u64(44) + u16(0) + u16(0) + u32(0) + u32(0) + u64(members.size()) +
               u64(members.size()) + u64(directory.size()) + u64(offset);
        zip += u32(0x07064b50) + u32(0) + u64(end) + u32(1);
    }
    return zip + u32(0x06054b50) + u16(0) + u16(0) + u16(members.size()) + u16(members.size()) + u32(directory.size()) +
           u32(offset) + u16(options.comment.size()) + options.comment;
}

std::string pth_of(const std::string& object, const StorageTexts& storages, const std::vector<ZipMember>& more) {
    std::vector<ZipMember> members;
    members.push_back({.name = "m/data.pkl", .content = pickle_of(object), .descriptor = true, .padding = 10});
    members.push_back({.name = "m/byteorder", .content = "little", .descriptor = true});
    for (const auto& [key, bytes] : storages) {
        members.push_back({.name = "m/data/" + key, .content = bytes, .descriptor = true, .padding = 37});
    }
    members.push_back({.name = "m/version", .content = "3\n", .descriptor = true});
    members.insert(members.end(), more.begin(), more.end());
    return zip_of(members);
}

std::string legacy_pth_of(const std::string& object, const StorageTexts& storages,
                          const std::vector<std::size_t>& item_bytes) {
    std::vector<std::string> keys;
    std::string data;
    for (std::size_t i = 0; i < storages.size(); ++i) {
        keys.push_back(pickled_text(storages[i].first));
        data += u64(storages[i].second.size() / item_bytes.at(i)) + storages[i].second;
    }
    const std::string magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    return pickle_of(magic) + pickle_of("M\xe9\x03") + pickle_of(pickled_dict({{"little_endian", "\x88"}})) +
           pickle_of(object) + pickle_of(pickled_list(keys)) + data;
}

std::string int64_bytes(const std::vector<std::int64_t>& numbers) {
    std::string all;
    for (const std::int64_t number : numbers) all += le(static_cast<std::uint64_t>(number));
    return all;
}

std::string packed_pth(const PackedText& packed) {
    const auto count = static_cast<std::int64_t>(packed.payloads.size());
    std::string data;
    std::vector<std::int64_t> offsets{0};
    for (const std::string& payload : packed.payloads) {
        data += payload;
        offsets.push_back(static_cast<std::int64_t>(data.size()));
    }
    const auto bytes = static_cast<std::int64_t>(data.size());
    std::vector<std::pair<std::string, std::string>> object = {
        {"data",
         pickled_tensor({.storage = "0", .type = "ByteStorage", .elements = bytes, .sizes = {bytes}, .strides = {1}})},
        {"offsets",
         pickled_tensor(
             {.storage = "1", .type = "LongStorage", .elements = count + 1, .sizes = {count + 1}, .strides = {1}})}};
    StorageTexts storages = {{"0", data}, {"1", int64_bytes(offsets)}};
    if (!packed.labels.empty()) {
        object.emplace_back(
            "labels",
            pickled_tensor(
                {.storage = "2", .type = "LongStorage", .elements = count, .sizes = {count}, .strides = {1}}));
        storages.emplace_back("2", int64_bytes(packed.labels));
    }
    if (!packed.keys.empty()) {
        std::vector<std::string> keys;
        for (const std::string& key : packed.keys) keys.push_back(pickled_text(key));
        object.emplace_back("keys", pickled_list(keys));
    }
    if (!packed.classes.empty()) {
        std::vector<std::pair<std::string, std::string>> classes;
        for (const auto& [name, label] : packed.classes) classes.emplace_back(name, pickled_number(label));
        object.emplace_back("classes", pickled_dict(classes));
    }
    return pth_of(pickled_dict(object), storages);
}

}  // namespace feedline::test
