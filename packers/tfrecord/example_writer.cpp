#include "packers/tfrecord/example_writer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "packers/output/wire_writer.h"

namespace feedline::tfrecord {
namespace {

using namespace wire;

constexpr unsigned kFeatures = 1;   // of Example
constexpr unsigned kEntry = 1;      // of Features: a map entry
constexpr unsigned kKey = 1;        // of the entry
constexpr unsigned kValue = 2;      // of the entry
constexpr unsigned kBytesList = 1;  // of Feature
constexpr unsigned kInt64List = 3;  // of Feature
constexpr unsigned kListValue = 1;  // of both lists

// A feature of one value of `bytes` bytes, up to where they begin.
std::string before_bytes(std::string_view name, std::uint64_t bytes) {
    const std::uint64_t list = field_size(bytes);
    const std::uint64_t feature = field_size(list);
    std::string out;
    open_field(out, kEntry, field_size(name.size()) + field_size(feature));
    put_field(out, kKey, name);
    open_field(out, kValue, feature);
    open_field(out, kBytesList, list);
    open_field(out, kListValue, bytes);
    return out;
}

std::string bytes_feature(std::string_view name, std::string_view value) {
    return before_bytes(name, value.size()).append(value);
}

std::string integers_feature(std::string_view name, std::span<const std::int64_t> values) {
    std::string packed;
    for (const std::int64_t value : values) put_varint(packed, static_cast<std::uint64_t>(value));
    std::string list;
    put_field(list, kListValue, packed);
    std::string feature;
    put_field(feature, kInt64List, list);
    std::string out;
    open_field(out, kEntry, field_size(name.size()) + field_size(feature.size()));
    put_field(out, kKey, name);
    put_field(out, kValue, feature);
    return out;
}

// As TensorFlow's own tools name it.
std::string image_format(const std::string& part) {
    std::string name = part;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return name == "jpg" ? "jpeg" : name;
}

}  // namespace

ExampleGlue example_around(const SampleHead& head) {
    std::string first;
    if (const auto* number = std::get_if<std::int64_t>(&head.label)) {
        first += integers_feature("image/class/label", std::span(number, 1));
    } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&head.label)) {
        first += integers_feature("image/class/label", *numbers);
    }
    const auto* text = std::get_if<std::string>(&head.label);
    const std::string& class_text = text != nullptr ? *text : head.class_name;
    if (!class_text.empty()) first += bytes_feature("image/class/text", class_text);

    ExampleGlue example;
    example.glue.push_back(first + before_bytes("image/encoded", head.parts.front().bytes));
    std::string between = bytes_feature("image/filename", head.path) +
                          bytes_feature("image/format", image_format(head.parts.front().name));
    for (std::size_t i = 1; i < head.parts.size(); ++i) {
        example.glue.push_back(between + before_bytes("part/" + head.parts[i].name, head.parts[i].bytes));
        between.clear();
    }
    example.glue.push_back(between);
    std::uint64_t features = head.bytes();
    for (const std::string& glue : example.glue) features += glue.size();
    std::string start;
    open_field(start, kFeatures, features);
    example.bytes = start.size() + features;
    example.glue.front().insert(0, start);
    return example;
}

}  // namespace feedline::tfrecord
