#include "packers/pth/pth_packer.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "core/error.h"
#include "core/little_endian.h"
#include "loaders/pickle/opcodes.h"
#include "loaders/pth/samples.h"
#include "packers/output/new_file.h"
#include "packers/pth/pickle_writer.h"
#include "packers/pth/zip_writer.h"

namespace feedline {
namespace {

using pickle::Opcode;

constexpr std::size_t kBatch = 1000;  // items added at once, as Python does: what Python's stack holds

char code(Opcode opcode) {
    return static_cast<char>(opcode);
}

// Payloads go to the file as they come; of each sample its end, its label and its path stay in memory.
class PthWriter final : public ShardWriter {
public:
    explicit PthWriter(const ShardPlan& plan)
        : classes_(plan.classes.begin(), plan.classes.end()), file_(plan.path, plan.rate), zip_(file_) {
        ends_.push_back(0);
        zip_.add("archive/byteorder", "little");
        zip_.begin("archive/data/0");
    }

    std::string begin(const SampleHead& head) override {
        labels_.push_back(label_of(head));
        if (keys_in_batch_ == kBatch) {
            keys_ += {code(Opcode::appends), code(Opcode::mark)};
            keys_in_batch_ = 0;
        }
        pickle::put_text(keys_, head.path);
        ++keys_in_batch_;
        return head.path;
    }

    void append(std::span<const std::byte> bytes) override { zip_.append(bytes); }
    void end() override { ends_.push_back(static_cast<std::int64_t>(zip_.entry_bytes())); }

    ShardSum finish() override {
        const std::uint64_t data_bytes = zip_.entry_bytes();
        zip_.end();
        add_numbers("archive/data/1", ends_);
        bool labelled = false;
        for (const std::int64_t label : labels_) labelled = labelled || label != pth::kNoLabel;
        if (labelled) add_numbers("archive/data/2", labels_);
        zip_.begin("archive/data.pkl");
        put(object_before_keys(data_bytes, labelled));
        put(keys_);
        put(object_behind_keys());
        zip_.end();
        zip_.add("archive/version", "3\n");
        zip_.finish();
        file_.finish();
        return {file_.bytes(), file_.crc32c(), {}};
    }

private:
    static std::int64_t label_of(const SampleHead& head) {
        if (std::holds_alternative<std::monostate>(head.label)) return pth::kNoLabel;
        if (const auto* number = std::get_if<std::int64_t>(&head.label)) return *number;
        const auto* numbers = std::get_if<std::vector<std::int64_t>>(&head.label);
        if (numbers != nullptr && numbers->size() == 1) return numbers->front();
        throw Error(ErrorKind::usage, "a label that is text or a list, and pth holds one number a sample")
            .at(head.path)
            .advise("Use --labels none, or pack it as webdataset");
    }

    void put(std::string_view text) { zip_.append(std::as_bytes(std::span(text))); }

    void add_numbers(std::string_view name, const std::vector<std::int64_t>& numbers) {
        constexpr std::size_t kPiece = 1024;
        std::array<std::byte, kPiece * sizeof(std::int64_t)> bytes{};
        zip_.begin(name);
        for (std::size_t first = 0; first < numbers.size(); first += kPiece) {
            const std::size_t count = std::min(kPiece, numbers.size() - first);
            for (std::size_t i = 0; i < count; ++i) {
                store_le(static_cast<std::uint64_t>(numbers[first + i]),
                         std::span(bytes).subspan(i * sizeof(std::uint64_t)));
            }
            zip_.append(std::span(bytes).first(count * sizeof(std::uint64_t)));
        }
        zip_.end();
    }

    // {'data': tensor, 'offsets': tensor, 'labels': tensor, 'keys': [
    std::string object_before_keys(std::uint64_t data_bytes, bool labelled) const {
        std::string out = {code(Opcode::proto), 2, code(Opcode::empty_dict), code(Opcode::mark)};
        pickle::put_text(out, "data");
        pickle::put_tensor(out, "ByteStorage", "0", data_bytes);
        pickle::put_text(out, "offsets");
        pickle::put_tensor(out, "LongStorage", "1", ends_.size());
        if (labelled) {
            pickle::put_text(out, "labels");
            pickle::put_tensor(out, "LongStorage", "2", labels_.size());
        }
        pickle::put_text(out, "keys");
        return out += {code(Opcode::empty_list), code(Opcode::mark)};
    }

    // ], 'classes': {...}}
    std::string object_behind_keys() const {
        std::string out = {code(Opcode::appends)};
        pickle::put_text(out, "classes");
        out += code(Opcode::empty_dict);
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            if (i % kBatch == 0) out += code(Opcode::mark);
            pickle::put_text(out, classes_[i].name);
            pickle::put_number(out, classes_[i].label);
            if (i % kBatch == kBatch - 1 || i + 1 == classes_.size()) out += code(Opcode::setitems);
        }
        return out += {code(Opcode::setitems), code(Opcode::stop)};
    }

    std::vector<ClassName> classes_;
    NewFile file_;
    pth::ZipWriter zip_;
    std::vector<std::int64_t> ends_;  // of samples in 'data', after a 0
    std::vector<std::int64_t> labels_;
    std::string keys_;  // as opcodes
    std::size_t keys_in_batch_ = 0;
};

}  // namespace

std::string PthPacker::shard_name(std::string_view dataset, std::uint64_t number, std::uint64_t /*shards*/) const {
    return fmt::format("{}-{:05}.pth", dataset, number);
}

std::uint64_t PthPacker::estimate_bytes(std::uint64_t samples, std::uint64_t content_bytes) const {
    // An offset, a label and a path of usual length; headers, padding and the pickle's frame.
    constexpr std::uint64_t kSampleBytes = 2 * sizeof(std::int64_t) + 48;
    constexpr std::uint64_t kFileBytes = 2048;
    return content_bytes + samples * kSampleBytes + kFileBytes;
}

std::unique_ptr<ShardWriter> PthPacker::open(const ShardPlan& plan) const {
    return std::make_unique<PthWriter>(plan);
}

}  // namespace feedline
