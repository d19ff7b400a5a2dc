#include "loaders/tfrecord/example.h"

#include <algorithm>
#include <array>
#include <cctype>

#if FEEDLINE_HAVE_PROTOBUF
#include <bit>

#include "loaders/shards/wire.h"
#endif

namespace feedline::tfrecord {

const Feature* Example::find(std::string_view name) const {
    const auto found = std::find_if(features_.rbegin(), features_.rend(),
                                    [&](const Feature& feature) { return feature.name == name; });
    return found == features_.rend() ? nullptr : &*found;
}

const Feature* Example::only(Feature::Kind kind) const {
    const Feature* found = nullptr;
    for (const Feature& feature : features_) {
        const std::size_t values = kind == Feature::Kind::bytes ? feature.bytes.size() : feature.integers.size();
        if (feature.kind != kind || values != 1) continue;
        if (found != nullptr) return nullptr;
        found = &feature;
    }
    return found;
}

std::optional<std::span<const std::byte>> Example::payload() const {
    const Feature* feature = payload_feature();
    if (feature == nullptr) return std::nullopt;
    return feature->bytes.front();
}

const Feature* Example::payload_feature() const {
    if (sequence_) return nullptr;
    for (const std::string_view name : {"image/encoded", "image"}) {
        const Feature* feature = find(name);
        if (feature != nullptr && feature->bytes.size() == 1) return feature;
    }
    // One text among numbers is a column of a table, and in the next record another one may be the only one.
    const bool table = std::any_of(features_.begin(), features_.end(), [](const Feature& feature) {
        return !feature.floats.empty() || feature.integers.size() > 1 || feature.bytes.size() > 1;
    });
    return table ? nullptr : only(Feature::Kind::bytes);
}

std::string Example::payload_name() const {
    constexpr std::size_t kLongest = 8;
    std::string name(text("image/format"));
    if (name.size() > kLongest || !std::all_of(name.begin(), name.end(), [](unsigned char c) { return isalnum(c); })) {
        return {};
    }
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(tolower(c)); });
    return name == "jpeg" ? "jpg" : name;
}

Label Example::label() const {
    const Feature* feature = label_feature();
    if (feature == nullptr) return {};
    if (feature->integers.size() == 1) return feature->integers.front();
    if (feature->integers.size() > 1) return feature->integers;
    return std::string(text(feature->name));
}

const Feature* Example::label_feature() const {
    constexpr std::size_t kLongestText = 4096;  // what is longer is no name but a mask
    for (const std::string_view name : {"image/class/label", "label", "class", "image/object/class/label"}) {
        const Feature* feature = find(name);
        if (feature == nullptr) continue;
        if (!feature->integers.empty()) return feature;
        if (feature->bytes.size() == 1 && feature->bytes.front().size() <= kLongestText) return feature;
    }
    return only(Feature::Kind::integers);
}

std::string_view Example::text(std::string_view name) const {
    const Feature* feature = find(name);
    if (feature == nullptr || feature->bytes.size() != 1) return {};
    return {reinterpret_cast<const char*>(feature->bytes.front().data()), feature->bytes.front().size()};
}

std::string_view Example::file_name() const {
    const Feature* feature = file_name_feature();
    return feature == nullptr ? std::string_view() : text(feature->name);
}

const Feature* Example::file_name_feature() const {
    for (const std::string_view name : {"image/filename", "filename", "key"}) {
        if (!text(name).empty()) return find(name);
    }
    return nullptr;
}

std::vector<std::string_view> Example::others() const {
    const std::array used = {payload_feature(), label_feature(), file_name_feature(), find("image/class/text"),
                             find("image/format")};
    std::vector<std::string_view> names;
    for (const Feature& feature : features_) {
        if (feature.name.starts_with("part/") && feature.bytes.size() == 1) continue;
        // Of one that is written twice the last counts.
        const Feature* counts = find(feature.name);
        if (counts == &feature && std::find(used.begin(), used.end(), counts) == used.end()) {
            names.push_back(feature.name);
        }
    }
    return names;
}

std::string_view Example::class_text() const {
    return text("image/class/text");
}

#if FEEDLINE_HAVE_PROTOBUF

namespace {

using namespace wire;

// A feature takes 50 times the memory of the two bytes that it may be written in.
constexpr std::size_t kMostFeatures = std::size_t{1} << 16U;

bool parse_bytes_list(std::span<const std::byte> list, Feature& feature) {
    return each_field(list, [&](std::uint32_t tag, CodedInputStream& in) {
        if (tag != length_delimited(1)) return skip(in, tag);
        return read_bytes(in, feature.bytes.emplace_back());
    });
}

bool read_float(CodedInputStream& in, Feature& feature) {
    std::uint32_t bits = 0;
    if (!in.ReadLittleEndian32(&bits)) return false;
    feature.floats.push_back(std::bit_cast<float>(bits));
    return true;
}

bool read_integer(CodedInputStream& in, Feature& feature) {
    std::uint64_t value = 0;
    if (!in.ReadVarint64(&value)) return false;
    feature.integers.push_back(static_cast<std::int64_t>(value));
    return true;
}

// Numbers stand one by one or packed; a reader must take both.
template <typename ReadOne>
bool parse_numbers(std::span<const std::byte> list, WireType type, Feature& feature, const ReadOne& read_one) {
    return each_field(list, [&](std::uint32_t tag, CodedInputStream& in) {
        if (tag == tag_of(1, type)) return read_one(in, feature);
        if (tag != length_delimited(1)) return skip(in, tag);
        std::span<const std::byte> packed;
        if (!read_bytes(in, packed)) return false;
        CodedInputStream numbers(reinterpret_cast<const std::uint8_t*>(packed.data()), static_cast<int>(packed.size()));
        while (static_cast<std::size_t>(numbers.CurrentPosition()) < packed.size()) {
            if (!read_one(numbers, feature)) return false;
        }
        return true;
    });
}

bool parse_feature(std::span<const std::byte> message, Feature& feature) {
    constexpr std::array kKinds = {Feature::Kind::empty, Feature::Kind::bytes, Feature::Kind::floats,
                                   Feature::Kind::integers};
    return each_field(message, [&](std::uint32_t tag, CodedInputStream& in) {
        const std::uint32_t field = tag >> 3U;
        if (field < 1 || field > 3 || tag != length_delimited(field)) return skip(in, tag);
        std::span<const std::byte> list;
        if (!read_bytes(in, list)) return false;
        const std::string_view name = feature.name;
        feature = Feature{};  // of a oneof the last member counts
        feature.name = name;
        feature.kind = kKinds.at(field);
        if (field == 1) return parse_bytes_list(list, feature);
        if (field == 2) return parse_numbers(list, WireType::fixed32, feature, read_float);
        return parse_numbers(list, WireType::varint, feature, read_integer);
    });
}

bool parse_entry(std::span<const std::byte> message, Feature& feature) {
    std::span<const std::byte> key;
    std::span<const std::byte> value;
    const bool well_formed = each_field(message, [&](std::uint32_t tag, CodedInputStream& in) {
        if (tag == length_delimited(1)) return read_bytes(in, key);
        if (tag == length_delimited(2)) return read_bytes(in, value);
        return skip(in, tag);
    });
    feature.name = {reinterpret_cast<const char*>(key.data()), key.size()};
    return well_formed && parse_feature(value, feature);
}

}  // namespace

bool can_parse_examples() {
    return true;
}

std::optional<Example> Example::parse(std::span<const std::byte> payload) {
    Example example;
    bool has_features = false;
    const bool well_formed = each_field(payload, [&](std::uint32_t tag, CodedInputStream& in) {
        if (tag == length_delimited(2)) example.sequence_ = true;
        if (tag != length_delimited(1)) return skip(in, tag);
        has_features = true;
        std::span<const std::byte> features;
        if (!read_bytes(in, features)) return false;
        return each_field(features, [&](std::uint32_t inner, CodedInputStream& entries) {
            if (inner != length_delimited(1)) return skip(entries, inner);
            std::span<const std::byte> entry;
            if (example.features_.size() == kMostFeatures) return false;
            return read_bytes(entries, entry) && parse_entry(entry, example.features_.emplace_back());
        });
    });
    if (!well_formed || !has_features) return std::nullopt;
    return example;
}

#else

bool can_parse_examples() {
    return false;
}

std::optional<Example> Example::parse(std::span<const std::byte> /*payload*/) {
    return std::nullopt;
}

#endif

}  // namespace feedline::tfrecord
