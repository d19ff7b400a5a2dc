// tf.train.Example as it lies in a record: features by name, their bytes where they are, nothing copied.
//
// Field numbers (tensorflow/core/example/example.proto and feature.proto): Example.features = 1; Features.feature = 1,
// a map (key 1, value 2); Feature: bytes_list 1, float_list 2, int64_list 3; in each list value = 1, numbers packed or
// not. A SequenceExample has `context` (Features) in field 1 too, and feature lists in 2, which are passed over.
//
// Thread-safety: values. Views are valid as long as the payload is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "loaders/dataset.h"

namespace feedline::tfrecord {

struct Feature {
    enum class Kind { empty, bytes, floats, integers };

    std::string_view name;
    Kind kind = Kind::empty;
    std::vector<std::span<const std::byte>> bytes;
    std::vector<std::int64_t> integers;
    std::vector<float> floats;
};

// Whether this build can look into Examples (it needs protobuf).
bool can_parse_examples();

class Example {
public:
    // Empty when the payload is no Example, or one of more than 65,536 features: payloads need not be, and raw bytes
    // are delivered all the same. Of a
    // feature that is written twice the last counts, as in any protobuf map.
    static std::optional<Example> parse(std::span<const std::byte> payload);

    const std::vector<Feature>& features() const { return features_; }
    const Feature* find(std::string_view name) const;

    // What a training job would decode: `image/encoded` (TensorFlow's models), `image` (TensorFlow Datasets), else the
    // only bytes feature of one value, where nothing else but single integers is there: rows of tables are whole. It
    // may be of no bytes. Nothing when there is no such one, and of a SequenceExample, whose data are in its lists.
    std::optional<std::span<const std::byte>> payload() const;
    // How a file of that payload would end, by `image/format`: "jpg", "png"; empty where it does not say.
    std::string payload_name() const;
    // `image/class/label`, `label`, `class` or, of an image of several things, `image/object/class/label`: a number,
    // several or a text, as it is stored; else the only integer feature of one value.
    Label label() const;
    // `image/filename`, `filename`, `key`.
    std::string_view file_name() const;
    std::string_view class_text() const;  // `image/class/text`
    // Names of features that none of the above is made of, nor a part that our own packer keeps (`part/...`).
    std::vector<std::string_view> others() const;

private:
    const Feature* payload_feature() const;
    const Feature* label_feature() const;
    const Feature* file_name_feature() const;
    const Feature* only(Feature::Kind kind) const;
    std::string_view text(std::string_view name) const;

    std::vector<Feature> features_;
    bool sequence_ = false;
};

}  // namespace feedline::tfrecord
