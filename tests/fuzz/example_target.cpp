#include <algorithm>

#include "loaders/lmdb/datum.h"
#include "loaders/tfrecord/example.h"
#include "tests/fuzz/target.h"

namespace feedline {
namespace {

void expect_inside(std::span<const std::byte> view, std::span<const std::byte> input) {
    const auto* const begin = input.data();
    if (view.empty()) return;
    if (view.data() < begin || view.data() + view.size() > begin + input.size()) report("a view of what is not there");
}

void expect_inside(std::string_view view, std::span<const std::byte> input) {
    expect_inside(std::as_bytes(std::span(view)), input);
}

void look_at(const tfrecord::Example& example, std::span<const std::byte> input) {
    for (const tfrecord::Feature& feature : example.features()) {
        expect_inside(feature.name, input);
        for (const std::span<const std::byte> value : feature.bytes) expect_inside(value, input);
        const std::size_t values = feature.bytes.size() + feature.integers.size() + feature.floats.size();
        if (values > input.size()) report("more values than bytes");
        const tfrecord::Feature* found = example.find(feature.name);
        if (found == nullptr || found->name != feature.name) report("a feature that is not found");
    }
    if (const auto payload = example.payload()) expect_inside(*payload, input);
    static_cast<void>(example.payload_name());
    static_cast<void>(example.label());
    expect_inside(example.file_name(), input);
    expect_inside(example.class_text(), input);
}

}  // namespace

void fuzz_one(std::span<const std::byte> input) {
    if (const auto example = tfrecord::Example::parse(input)) look_at(*example, input);
    if (const auto datum = lmdb::parse_datum(input)) expect_inside(datum->data, input);
}

}  // namespace feedline
