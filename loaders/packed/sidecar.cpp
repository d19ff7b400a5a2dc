#include "loaders/packed/sidecar.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/line_reader.h"
#include "loaders/packed/escape.h"
#include "loaders/packed/shard_json.h"

namespace feedline {
namespace {

using nlohmann::json;

json label_json(const Label& label) {
    if (const auto* number = std::get_if<std::int64_t>(&label)) return *number;
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&label)) return *numbers;
    if (const auto* text = std::get_if<std::string>(&label)) return escaped(*text);
    return nullptr;
}

Label label_of(const json& value) {
    if (value.is_number_integer()) return whole_number_in(value);
    if (value.is_array()) {
        std::vector<std::int64_t> numbers;
        for (const json& number : value) numbers.push_back(whole_number_in(number));
        return numbers;
    }
    if (value.is_string()) return unescaped(value.get<std::string>());
    throw Error(ErrorKind::corrupt, "a label is neither a number, nor a list of numbers, nor text");
}

SidecarPart part_of(const json& value) {
    SidecarPart part{unescaped(value.at("name").get<std::string>()), count_in(value.at("bytes")), 0};
    part.crc32c = parse_checksum(value.at("crc32c").get<std::string>());
    return part;
}

}  // namespace

std::string to_line(const SidecarSample& sample) {
    const auto quoted = [](const std::string& bytes) { return json(escaped(bytes)).dump(); };
    std::string line = fmt::format("{{\"key\":{},\"path\":{}", quoted(sample.key), quoted(sample.path));
    if (!std::holds_alternative<std::monostate>(sample.label)) line += ",\"label\":" + label_json(sample.label).dump();
    line += ",\"parts\":[";
    for (std::size_t i = 0; i < sample.parts.size(); ++i) {
        const SidecarPart& part = sample.parts[i];
        line += fmt::format("{}{{\"name\":{},\"bytes\":{},\"crc32c\":\"{:08x}\"}}", i == 0 ? "" : ",",
                            quoted(part.name), part.bytes, part.crc32c);
    }
    return line + "]}\n";
}

SidecarSample parse_line(std::string_view line) {
    try {
        const json value = json::parse(line);
        SidecarSample sample{
            unescaped(value.at("key").get<std::string>()), unescaped(value.at("path").get<std::string>()), {}, {}};
        if (value.contains("label")) sample.label = label_of(value.at("label"));
        for (const json& part : value.at("parts")) sample.parts.push_back(part_of(part));
        return sample;
    } catch (const json::exception&) {
        throw Error(ErrorKind::corrupt, "this is no line of a sidecar");
    }
}

std::uint32_t for_each_sample(const std::string& path,
                              const std::function<void(const SidecarSample&, std::uint64_t)>& each) {
    LineReader in(path);
    std::string line;
    while (in.next(line)) {
        if (in.was_cut())
            throw Error(ErrorKind::corrupt, "the last line of the sidecar is cut off").at(path, in.offset_bytes());
        SidecarSample sample;
        try {
            sample = parse_line(line);
        } catch (const Error& error) {
            throw Error(error.kind(), error.message()).at(path, in.offset_bytes());
        }
        each(sample, in.offset_bytes());
    }
    return in.crc32c();
}

}  // namespace feedline
