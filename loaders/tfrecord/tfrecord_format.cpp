#include "loaders/tfrecord/tfrecord_format.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/beginning.h"
#include "core/error.h"
#include "loaders/left_behind.h"
#include "loaders/shards/shard_dataset.h"
#include "loaders/tfrecord/example.h"
#include "loaders/tfrecord/framing.h"
#include "loaders/tfrecord/shard_index.h"

namespace feedline {
namespace {

using namespace tfrecord;

std::span<const std::byte> inside_framing(std::span<const std::byte> record) {
    if (record.size() < kFramingBytes) return {};
    return record.subspan(kHeaderBytes, record.size() - kFramingBytes);
}

std::string framing_problem(std::span<const std::byte> record) {
    if (record.size() < kFramingBytes) return "the record is shorter than its framing";
    const std::optional<std::uint64_t> length = parse_header(record.first<kHeaderBytes>());
    if (!length || *length != record.size() - kFramingBytes) return "the record's length is not what it was";
    return {};
}

class TfrecordDataset final : public ShardDataset, public LeavesBehind {
public:
    TfrecordDataset(std::string path, ShardList list, ExtentIndex index,
                    std::vector<std::shared_ptr<const AccessPoints>> access)
        : ShardDataset(std::move(path), "tfrecord", std::move(list), std::move(index), std::move(access)) {
        records_hold_checksums();
    }

    SampleViews views(SampleId /*id*/, std::span<const std::byte> record) const override {
        SampleViews found;
        found.problem = framing_problem(record);
        if (!found.problem.empty()) return found;
        const std::span<const std::byte> whole = inside_framing(record);
        const std::optional<Example> example = Example::parse(whole);
        const std::optional<std::span<const std::byte>> payload = example ? example->payload() : std::nullopt;
        found.parts.push_back({payload ? example->payload_name() : "", payload.value_or(whole)});
        if (!example) return found;
        // What our own packer keeps beside the first part.
        constexpr std::string_view kPart = "part/";
        for (const Feature& feature : example->features()) {
            if (!feature.name.starts_with(kPart) || feature.bytes.size() != 1) continue;
            found.parts.push_back({std::string(feature.name.substr(kPart.size())), feature.bytes.front()});
        }
        found.label = example->label();
        found.class_name = example->class_text();
        if (std::holds_alternative<std::monostate>(found.label) && !found.class_name.empty()) {
            found.label = std::exchange(found.class_name, {});
        }
        found.original_path = example->file_name();
        return found;
    }

    std::span<const std::byte> payload(SampleId /*id*/, std::span<const std::byte> record) const override {
        const std::span<const std::byte> whole = inside_framing(record);
        const std::optional<Example> example = Example::parse(whole);
        return example ? example->payload().value_or(whole) : whole;
    }

    LeftBehind left_behind(std::span<const std::byte> record) const override {
        LeftBehind left;
        const std::optional<Example> example = Example::parse(inside_framing(record));
        if (!example) return left;
        left.whole = !example->payload();
        if (left.whole) return left;
        for (const std::string_view name : example->others()) left.names.emplace_back(name);
        return left;
    }

    std::string check(SampleId /*id*/, std::span<const std::byte> record) const override {
        std::string problem = framing_problem(record);
        if (!problem.empty()) return problem;
        if (!footer_fits(inside_framing(record), record.last<kFooterBytes>())) {
            return "the CRC32C of the record's payload does not match";
        }
        return {};
    }
};

bool is_header(std::span<const std::byte> start) {
    return start.size() == kHeaderBytes && parse_header(start.first<kHeaderBytes>()).has_value();
}

bool sniff(const std::string& path) {
    const std::vector<std::byte> start = beginning_of(AT_FDCWD, path.c_str(), kHeaderBytes);
    if (is_header(start)) return true;
    if (!looks_compressed(start)) return false;
    // What cannot be looked into is taken by its name, to be refused for what it is.
    if (!can_inflate()) return path.find("tfrecord", path.rfind('/') + 1) != std::string::npos;
    return is_header(inflated_beginning(path, kHeaderBytes));
}

}  // namespace

Confidence TfrecordFormat::probe(const std::string& path) const {
    return shards_look_like(path, sniff) ? Confidence::yes : Confidence::no;
}

std::unique_ptr<Dataset> TfrecordFormat::open(const std::string& path, const OpenOptions& options) const {
    ShardList list = list_shards(path, name(), sniff);
    ShardIndex index = index_shards(list.shards, chain_options(options));
    if (index.extents.samples() == 0) throw Error(ErrorKind::usage, "the dataset holds no records").at(path);
    std::move(index.oddities.begin(), index.oddities.end(), std::back_inserter(list.oddities));
    return std::make_unique<TfrecordDataset>(path, std::move(list), std::move(index.extents), std::move(index.access));
}

}  // namespace feedline
