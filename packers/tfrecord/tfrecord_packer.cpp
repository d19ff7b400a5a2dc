#include "packers/tfrecord/tfrecord_packer.h"

#include <fmt/format.h>

#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/units.h"
#include "loaders/tfrecord/framing.h"
#include "packers/output/glued_parts.h"
#include "packers/output/new_file.h"
#include "packers/tfrecord/example_writer.h"

namespace feedline {
namespace {

using namespace tfrecord;

// Protobuf's own limit on a message.
constexpr std::uint64_t kLargestExample = (std::uint64_t{1} << 31U) - 1;

class RecordWriter final : public ShardWriter {
public:
    explicit RecordWriter(const ShardPlan& plan) : file_(plan.path, plan.rate), index_(plan.index_path, nullptr) {}

    std::string begin(const SampleHead& head) override {
        ExampleGlue example = example_around(head);
        if (example.bytes > kLargestExample) {
            throw Error(ErrorKind::usage, fmt::format("a sample of {} is more than a tf.train.Example holds (2 GiB)",
                                                      format_size(static_cast<double>(head.bytes()))))
                .at(head.path)
                .advise("Pack it as webdataset or hdf5");
        }
        // DALI's index (tfrecord2idx): a line a record, its offset and its size with the framing.
        index_.append(fmt::format("{} {}\n", file_.bytes(), example.bytes + kFramingBytes));
        file_.append(make_header(example.bytes));
        crc_ = 0;
        parts_.begin(head.parts, std::move(example.glue));
        return head.path;
    }

    void append(std::span<const std::byte> bytes) override {
        parts_.append(bytes, [this](std::span<const std::byte> piece) { put(piece); });
    }

    void end() override {
        parts_.end([this](std::span<const std::byte> piece) { put(piece); });
        file_.append(make_footer(crc_));
    }

    ShardSum finish() override {
        file_.finish();
        index_.finish();
        return {file_.bytes(), file_.crc32c(), index_.crc32c()};
    }

private:
    void put(std::span<const std::byte> piece) {
        crc_ = crc32c(piece, crc_);
        file_.append(piece);
    }

    NewFile file_;
    NewFile index_;
    GluedParts parts_;
    std::uint32_t crc_ = 0;  // of the Example so far
};

}  // namespace

std::string TfrecordPacker::shard_name(std::string_view dataset, std::uint64_t number, std::uint64_t shards) const {
    return fmt::format("{}-{:05}-of-{:05}.tfrecord", dataset, number, shards);
}

std::uint64_t TfrecordPacker::estimate_bytes(std::uint64_t samples, std::uint64_t content_bytes) const {
    // Framing, names of features, a label, a path and a class's name of usual length.
    constexpr std::uint64_t kOverheadBytes = kFramingBytes + 200;
    return content_bytes + samples * kOverheadBytes;
}

std::unique_ptr<ShardWriter> TfrecordPacker::open(const ShardPlan& plan) const {
    return std::make_unique<RecordWriter>(plan);
}

}  // namespace feedline
