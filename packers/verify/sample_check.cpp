#include "packers/verify/sample_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/crc32c.h"
#include "core/error.h"
#include "loaders/packed/sidecar.h"
#include "packers/pack/sample_reader.h"

namespace feedline {
namespace {

// What stands in the label's place when it is a part.
constexpr std::string_view kLabelPart = "cls";

struct Content {
    std::string name;
    std::span<const std::byte> bytes;
};

// What of a sample is data: all parts but the label.
std::vector<Content> contents(const SampleViews& views) {
    std::vector<Content> all;
    for (const Part& part : views.parts) {
        if (part.name != kLabelPart || views.parts.size() == 1) all.push_back({part.name, part.bytes});
    }
    return all;
}

std::vector<SidecarSample> sidecar_lines(const std::string& path, Findings& findings) {
    std::vector<SidecarSample> lines;
    try {
        for_each_sample(path, [&](const SidecarSample& sample, std::uint64_t /*offset*/) { lines.push_back(sample); });
    } catch (const Error& error) {
        findings.add({error.message(), path, error.offset_bytes(), ""});
    }
    return lines;
}

// The first difference between what was packed and the bytes of its source, which come in pieces; empty: there is none.
class Comparison {
public:
    explicit Comparison(std::span<const std::byte> packed) : packed_(packed) {}

    void piece(std::span<const std::byte> bytes) {
        if (!difference_.empty()) return;
        const auto rest = packed_.subspan(std::min<std::size_t>(at_, packed_.size()));
        const std::size_t common = std::min(rest.size(), bytes.size());
        if (common > 0 && std::memcmp(rest.data(), bytes.data(), common) != 0) {
            const auto [here, there] =
                std::mismatch(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(common), bytes.begin());
            difference_ = fmt::format("differs from the source at byte {}",
                                      at_ + static_cast<std::uint64_t>(here - rest.begin()));
        } else if (common < bytes.size()) {
            difference_ = fmt::format("ends after {} bytes, and the source goes on", packed_.size());
        }
        at_ += bytes.size();
    }
    std::string end() {
        if (difference_.empty() && at_ < packed_.size()) {
            difference_ = fmt::format("has {} bytes, and the source {}", packed_.size(), at_);
        }
        return difference_;
    }

private:
    std::span<const std::byte> packed_;
    std::uint64_t at_ = 0;
    std::string difference_;
};

// Samples of the source, in the order in which they are asked for.
class SourceSamples {
public:
    SourceSamples(const std::shared_ptr<const Dataset>& source, const SourceMemory* memory, std::vector<SampleId> ids)
        : source_(source),
          memory_(memory),
          ids_(ids),
          reader_(source, std::move(ids),
                  {.engine = select_engine(EngineKind::uring, *source), .on_error = OnError::skip}, slab_) {}

    // Compares the next sample with `packed`, and its label with `label` unless that is null.
    std::string compare(const std::vector<Content>& packed, const Label* label) {
        if (!next()) return "the source cannot be read any further";
        if (!piece_.failure.empty()) {
            const std::string why = "the source cannot be read (" + piece_.failure + ")";
            while (!piece_.is_last() && next()) {
            }
            return why;
        }
        const SampleId id = ids_[piece_.position];
        SampleViews views = source_->views(id, piece_.bytes);
        std::vector<Content> parts = contents(views);
        if (memory_ != nullptr) {
            views.label = memory_->label(id);
            if (parts.size() > memory_->parts(id)) parts.resize(memory_->parts(id));
        }
        const bool other_label = label != nullptr && *label != views.label;
        // A record whole in memory, or a file that is its only part.
        if (piece_.is_last()) {
            std::string difference = compare_parts(packed, parts);
            return difference.empty() && other_label ? kOtherLabel : difference;
        }
        Comparison comparison(packed.front().bytes);
        comparison.piece(piece_.bytes);
        while (!piece_.is_last() && next()) comparison.piece(piece_.bytes);
        std::string difference = comparison.end();
        return difference.empty() && other_label ? kOtherLabel : difference;
    }

private:
    static constexpr const char* kOtherLabel = "has another label than in the source";
    bool next() { return reader_.next(piece_); }

    static std::string compare_parts(const std::vector<Content>& packed, const std::vector<Content>& parts) {
        for (std::size_t i = 0; i < packed.size(); ++i) {
            auto found = std::find_if(parts.begin(), parts.end(),
                                      [&](const Content& part) { return part.name == packed[i].name; });
            // Formats have names of their own for what is trained on.
            if (found == parts.end() && i < parts.size()) found = parts.begin() + static_cast<std::ptrdiff_t>(i);
            if (found == parts.end()) return fmt::format("has a part '{}' that the source has not", packed[i].name);
            Comparison comparison(packed[i].bytes);
            comparison.piece(found->bytes);
            if (std::string difference = comparison.end(); !difference.empty()) return difference;
        }
        return {};
    }

    std::shared_ptr<const Dataset> source_;
    const SourceMemory* memory_;  // may be null
    std::vector<SampleId> ids_;
    std::shared_ptr<Slab> slab_;
    SampleReader reader_;
    RecordPiece piece_;
};

std::string against_line(const SidecarSample& line, const SampleViews& views, const std::vector<Content>& parts) {
    if (parts.size() != line.parts.size())
        return fmt::format("has {} parts, and had {}", parts.size(), line.parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].bytes.size() != line.parts[i].bytes) {
            return fmt::format("has {} bytes, and had {}", parts[i].bytes.size(), line.parts[i].bytes);
        }
        if (crc32c(parts[i].bytes) != line.parts[i].crc32c) return "its bytes are not those that were packed (CRC32C)";
    }
    const bool both = !std::holds_alternative<std::monostate>(views.label) && views.label.index() == line.label.index();
    if (both && views.label != line.label) return "has another label than it had";
    return {};
}

// What cannot be read is told sample by sample.
SampleReader read_all(const std::shared_ptr<const Dataset>& packed, const std::vector<SampleId>& ids,
                      std::shared_ptr<Slab>& slab) {
    return {packed, ids, {.engine = select_engine(EngineKind::uring, *packed), .on_error = OnError::skip}, slab};
}

}  // namespace

std::vector<ShardSamples> samples_by_shard(const Dataset& dataset) {
    std::vector<ShardSamples> shards(dataset.info().shards);
    for (std::size_t i = 0; i < shards.size(); ++i) shards[i].shard = static_cast<ShardId>(i);
    constexpr std::size_t kAtOnce = 256;
    std::array<SampleId, kAtOnce> ids{};
    std::array<Extent, kAtOnce> extents{};
    for (SampleId first = 0; first < dataset.size(); first += kAtOnce) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kAtOnce, dataset.size() - first));
        std::iota(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), first);
        dataset.locate(std::span(ids).first(count), std::span(extents).first(count));
        for (std::size_t i = 0; i < count; ++i) shards[extents[i].shard].ids.push_back(ids[i]);
    }
    return shards;
}

std::vector<std::string> SampleCheck::paths_in_records(const ShardSamples& samples) const {
    std::vector<std::string> paths(samples.ids.size());
    std::shared_ptr<Slab> slab;
    SampleReader reader = read_all(packed_, samples.ids, slab);
    RecordPiece piece;
    while (reader.next(piece)) {
        if (interrupt_.requested()) throw Error(ErrorKind::interrupted, "interrupted");
        if (!piece.failure.empty()) continue;
        paths[piece.position] = packed_->views(samples.ids[piece.position], piece.bytes).original_path;
    }
    return paths;
}

void SampleCheck::add_untold(std::string key) const {
    const std::lock_guard lock(mutex_);
    if (untold_++ == 0 || key < first_untold_) first_untold_ = std::move(key);
}

std::uint64_t SampleCheck::shard(const ShardSamples& samples, const std::string& sidecar) const {
    const std::string path = packed_->path(samples.shard);
    std::vector<SidecarSample> lines;
    if (!sidecar.empty()) {
        lines = sidecar_lines(sidecar, findings_);
        if (lines.size() != samples.ids.size()) {
            findings_.add(
                {fmt::format("a shard holds {} samples, and its sidecar names {}", samples.ids.size(), lines.size()),
                 path,
                 {},
                 ""});
            lines.clear();
        }
    }
    if (samples.ids.empty()) return 0;
    const auto name_of = [&](std::size_t at) { return lines.empty() ? packed_->key(samples.ids[at]) : lines[at].key; };
    std::vector<std::optional<SampleId>> sources(samples.ids.size());
    std::unique_ptr<SourceSamples> source;
    if (source_ != nullptr) {
        // The source's paths are all that tells which was which.
        std::vector<std::string> paths;
        if (lines.empty() && !source_->info().packed) paths = paths_in_records(samples);
        std::vector<SampleId> ids;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            sources[i] = source_of_(samples.ids[i], !paths.empty()  ? paths[i]
                                                    : lines.empty() ? std::string()
                                                                    : lines[i].path);
            if (sources[i]) ids.push_back(*sources[i]);
        }
        if (!ids.empty())
            source = std::make_unique<SourceSamples>(source_, memory_ ? &*memory_ : nullptr, std::move(ids));
    }
    std::uint64_t compared = 0;
    std::shared_ptr<Slab> slab;
    SampleReader reader = read_all(packed_, samples.ids, slab);
    RecordPiece piece;
    while (reader.next(piece)) {
        if (interrupt_.requested()) throw Error(ErrorKind::interrupted, "interrupted");
        const std::size_t at = piece.position;
        Extent extent;
        packed_->locate(std::span(&samples.ids[at], 1), std::span(&extent, 1));
        const auto found = [&](std::string what) {
            findings_.add({std::move(what), path, extent.offset_bytes, name_of(at)});
        };
        std::string problem =
            piece.failure.empty() ? packed_->check(samples.ids[at], piece.bytes) : "cannot be read: " + piece.failure;
        std::vector<Content> parts;
        Label label;
        if (problem.empty()) {
            const SampleViews views = packed_->views(samples.ids[at], piece.bytes);
            problem = views.problem;
            parts = contents(views);
            // What says the label is a part to those who do not know better.
            if (!lines.empty() && parts.size() > lines[at].parts.size()) parts.resize(lines[at].parts.size());
            if (problem.empty() && parts.empty()) problem = "holds nothing";
            if (problem.empty() && !lines.empty()) problem = against_line(lines[at], views, parts);
            label = lines.empty() ? views.label : lines[at].label;
        }
        if (!problem.empty()) found("a sample is damaged: " + problem);
        if (source_ == nullptr) continue;
        if (!sources[at]) {
            if (lines.empty()) {
                add_untold(name_of(at));
            } else {
                found("a sample is not in the source");
            }
            continue;
        }
        // Also where it is damaged, for the two go side by side.
        const std::string difference =
            source->compare(parts.empty() ? std::vector<Content>{{"", {}}} : parts, compare_labels_ ? &label : nullptr);
        if (problem.empty() && !difference.empty()) found("a sample " + difference);
        ++compared;
    }
    return compared;
}

}  // namespace feedline
