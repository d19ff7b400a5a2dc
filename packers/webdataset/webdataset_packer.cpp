#include "packers/webdataset/webdataset_packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "packers/output/glued_parts.h"
#include "packers/output/new_file.h"
#include "packers/webdataset/sample_key.h"
#include "packers/webdataset/tar_writer.h"

namespace feedline {
namespace {

using namespace webdataset;

// A member that tells the label: its extension and what is in it.
struct LabelMember {
    std::string extension;
    std::string content;
};

bool has_part(const SampleHead& head, std::string_view name) {
    return std::any_of(head.parts.begin(), head.parts.end(), [&](const PartHead& part) { return part.name == name; });
}

std::optional<LabelMember> label_member(const SampleHead& head) {
    if (const auto* number = std::get_if<std::int64_t>(&head.label))
        return LabelMember{"cls", fmt::format("{}", *number)};
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&head.label)) {
        return LabelMember{has_part(head, "json") ? "labels.json" : "json",
                           fmt::format("[{}]", fmt::join(*numbers, ", "))};
    }
    if (const auto* text = std::get_if<std::string>(&head.label)) {
        return LabelMember{has_part(head, "txt") ? "label.txt" : "txt", *text};
    }
    return std::nullopt;
}

std::string as_text(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class TarWriter final : public ShardWriter {
public:
    explicit TarWriter(const ShardPlan& plan) : file_(plan.path, plan.rate), index_(plan.index_path, nullptr) {
        // DALI's index of tar archives (wds2idx): "v1.2 SAMPLES", then a line a sample.
        index_.append(fmt::format("v1.2 {}\n", plan.samples));
    }

    std::string begin(const SampleHead& head) override {
        const std::string key = sample_key(head.path, head.unique_stem);
        std::uint64_t at = file_.bytes();
        std::vector<std::string> glue;
        std::string line;
        std::string before;  // what fills the last block of the member before
        const auto member = [&](std::string_view extension, std::uint64_t bytes) {
            const std::string name = fmt::format("{}.{}", key, extension);
            glue.push_back(before + as_text(tar::file_header(name, bytes)));
            at += glue.back().size();
            line += fmt::format("{}{} {} {} {}", line.empty() ? "" : " ", extension, at, bytes, name);
            at += bytes;
            before = std::string(tar::padding(bytes), '\0');
        };
        for (const PartHead& part : head.parts) member(part_extension(part.name), part.bytes);
        if (const std::optional<LabelMember> label = label_member(head)) {
            member(label->extension, label->content.size());
            glue.back() += label->content + before;
        } else {
            glue.push_back(before);
        }
        index_.append(line + "\n");
        parts_.begin(head.parts, std::move(glue));
        return key;
    }

    void append(std::span<const std::byte> bytes) override {
        parts_.append(bytes, [this](std::span<const std::byte> piece) { file_.append(piece); });
    }

    void end() override {
        parts_.end([this](std::span<const std::byte> piece) { file_.append(piece); });
    }

    ShardSum finish() override {
        file_.append_zeros(tar::kEndBytes);
        file_.finish();
        index_.finish();
        return {file_.bytes(), file_.crc32c(), index_.crc32c()};
    }

private:
    NewFile file_;
    NewFile index_;
    GluedParts parts_;
};

}  // namespace

std::string WebdatasetPacker::shard_name(std::string_view dataset, std::uint64_t number,
                                         std::uint64_t /*shards*/) const {
    return fmt::format("{}-{:06}.tar", dataset, number);
}

std::uint64_t WebdatasetPacker::estimate_bytes(std::uint64_t samples, std::uint64_t content_bytes) const {
    // Two headers, a label in a block of its own, and half a block that fills the last one.
    constexpr std::uint64_t kOverheadBytes = 512 * 3 + 256;
    return content_bytes + samples * kOverheadBytes + tar::kEndBytes;
}

std::unique_ptr<ShardWriter> WebdatasetPacker::open(const ShardPlan& plan) const {
    return std::make_unique<TarWriter>(plan);
}

}  // namespace feedline
