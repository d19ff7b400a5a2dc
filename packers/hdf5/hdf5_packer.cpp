#include "packers/hdf5/hdf5_packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "loaders/hdf5/no_label.h"
#include "packers/hdf5/tables.h"
#include "packers/output/file_sum.h"
#include "packers/output/new_file.h"

namespace feedline {
namespace {

using namespace hdf5;

std::int64_t label_of(const SampleHead& head) {
    if (std::holds_alternative<std::monostate>(head.label)) return kNoLabel;
    if (const auto* number = std::get_if<std::int64_t>(&head.label)) return *number;
    const auto* numbers = std::get_if<std::vector<std::int64_t>>(&head.label);
    if (numbers != nullptr && numbers->size() == 1) return numbers->front();
    throw Error(ErrorKind::usage, "a label that is text or a list, and hdf5 holds one number a sample")
        .at(head.path)
        .advise("Use --labels none, or pack it as webdataset");
}

// Payloads go to the file as they come; of each sample its end, its label and its path stay in memory.
class ArrayWriter final : public ShardWriter {
public:
    explicit ArrayWriter(const ShardPlan& plan)
        : classes_(plan.classes.begin(), plan.classes.end()),
          beginning_(empty_file(plan.path)),
          file_(plan.path, plan.rate) {
        file_.append(std::string_view(beginning_));
        file_.append_zeros(kPayloadsAt - file_.bytes());
        beginning_crc32c_ = file_.crc32c();
    }

    std::string begin(const SampleHead& head) override {
        labels_.push_back(label_of(head));
        keys_ += head.path;
        key_ends_.push_back(keys_.size());
        return head.path;
    }
    void append(std::span<const std::byte> bytes) override { file_.append(bytes); }
    void end() override { offsets_.push_back(file_.bytes() - kPayloadsAt); }

    ShardSum finish() override {
        file_.finish();
        const std::uint64_t payload_bytes = file_.bytes() - kPayloadsAt;
        const std::uint32_t payloads = crc32c_joined(beginning_crc32c_, file_.crc32c(), payload_bytes);
        const bool labelled = std::any_of(labels_.begin(), labels_.end(), [](std::int64_t l) { return l != kNoLabel; });
        if (!labelled) labels_.clear();
        add_tables(file_.path(), {.payload_bytes = offsets_.back(),
                                  .offsets = offsets_,
                                  .labels = labels_,
                                  .classes = classes_,
                                  .keys = keys_,
                                  .key_ends = key_ends_});
        // The library has written around the payloads, which need not be read again.
        PartReader again(file_.path());
        FileSum all;
        again.add(all, kPayloadsAt);
        all = {all.bytes + payload_bytes, crc32c_joined(all.crc32c, payloads, payload_bytes)};
        again.add(all);
        return {.bytes = all.bytes, .crc32c = all.crc32c, .index_crc32c = {}};
    }

private:
    std::vector<ClassName> classes_;
    std::string beginning_;
    NewFile file_;
    std::uint32_t beginning_crc32c_ = 0;  // of what stands before the payloads, as it was written first
    std::vector<std::uint64_t> offsets_ = {0};
    std::vector<std::int64_t> labels_;
    std::string keys_;
    std::vector<std::uint64_t> key_ends_;
};

}  // namespace

std::string Hdf5Packer::shard_name(std::string_view dataset, std::uint64_t number, std::uint64_t /*shards*/) const {
    return fmt::format("{}-{:05}.h5", dataset, number);
}

std::uint64_t Hdf5Packer::estimate_bytes(std::uint64_t samples, std::uint64_t content_bytes) const {
    // An offset, a label, and a path of usual length; what stands before the payloads, and pages that are not full.
    constexpr std::uint64_t kSampleBytes = 8 + 8 + 64;
    return content_bytes + samples * kSampleBytes + 10 * kPayloadsAt;
}

std::unique_ptr<ShardWriter> Hdf5Packer::open(const ShardPlan& plan) const {
    return std::make_unique<ArrayWriter>(plan);
}

}  // namespace feedline
