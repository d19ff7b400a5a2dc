#include "packers/pack/head_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/path_suffix.h"
#include "loaders/packed/manifest.h"
#include "loaders/packed/sidecar.h"
#include "packers/output/digest.h"

namespace feedline {
namespace {

// It is the label itself, which is written again.
constexpr std::string_view kLabelPart = "cls";

// Of all samples, in their order, from the sidecars of a packed dataset; nothing where it has none, or not for all.
std::optional<KeyList> paths_in_sidecars(const Dataset& source) {
    if (!source.info().packed) return std::nullopt;
    const std::string& directory = source.info().path;
    const std::optional<Manifest> manifest = read_manifest(directory);
    if (!manifest || manifest->samples() != source.size()) return std::nullopt;
    KeyList paths;
    for (const PackedShard& shard : manifest->shards) {
        for_each_sample(fmt::format("{}/{}{}", directory, shard.name, kSidecarSuffix),
                        [&](const SidecarSample& sample, std::uint64_t /*offset*/) { paths.add(sample.path); });
    }
    if (paths.size() != source.size()) return std::nullopt;
    return paths;
}

}  // namespace

HeadMaker::HeadMaker(std::shared_ptr<const Dataset> source, const Packer& packer, std::vector<std::string> parts,
                     LabelChoice labels)
    : source_(std::move(source)),
      packer_(packer),
      parts_(std::move(parts)),
      labels_(std::move(labels)),
      paths_(paths_in_sidecars(*source_)),
      unique_paths_(!source_->info().packed || paths_) {
    for (const std::string& part : parts_) digest_ = feedline::digest(part, digest_);
    digest_ = feedline::digest(labels_.digest(), digest_);
    for (SampleId id = 0; id < source_->size(); ++id) {
        const std::string key = paths_ ? std::string((*paths_)[id]) : source_->key(id);
        if (unique_paths_) stems_.add(key);
        digest_ = feedline::digest(key, digest_);
    }
    stems_.close();
}

std::string HeadMaker::path_of(SampleId id, const SampleViews& views) const {
    if (paths_) return std::string((*paths_)[id]);
    return views.original_path.empty() ? source_->key(id) : views.original_path;
}

Sample HeadMaker::sample(std::uint64_t number, SampleId id, std::span<const std::byte> record,
                         std::uint64_t record_bytes) const {
    SampleViews views = source_->views(id, record);
    Sample sample{{}, {}, std::move(views.problem)};
    const std::string path = path_of(id, views);
    if (views.parts.empty() && sample.problem.empty()) sample.problem = "the record holds no sample";
    if (!sample.problem.empty()) return sample;
    choose_parts(views, path);
    // Formats have names of their own for what a suffix says.
    if (paths_ && views.parts.size() == 1) {
        const std::string_view suffix = path_suffix(path);
        views.parts.front().name = suffix.empty() ? "" : suffix.substr(1);
    }

    SampleHead& head = sample.head;
    head.number = number;
    // Two records of a packed source may be of one path, or of none.
    head.path = unique_paths_ ? path : fmt::format("{:08}_{}", number, path);
    head.unique_stem = !unique_paths_ || stems_.unique(path);
    head.label = labels_.label(path, views.label);
    if (labels_.keeps_own()) head.class_name = std::move(views.class_name);
    for (const Part& part : views.parts) {
        head.parts.push_back({part.name, part.bytes.size()});
        sample.contents.push_back(part.bytes);
    }
    // Only a file that is nothing but its one part comes in pieces.
    if (record.size() < record_bytes) head.parts.front().bytes = record_bytes;
    return sample;
}

void HeadMaker::choose_parts(SampleViews& views, const std::string& path) const {
    std::vector<Part> chosen;
    if (parts_.empty()) {
        for (const Part& part : views.parts) {
            if (part.name != kLabelPart || views.parts.size() == 1) chosen.push_back(part);
        }
    } else {
        for (const std::string& name : parts_) {
            const auto found = std::find_if(views.parts.begin(), views.parts.end(),
                                            [&](const Part& part) { return part.name == name; });
            if (found == views.parts.end()) {
                throw Error(ErrorKind::usage, fmt::format("a sample has no part '{}'", printable(name))).at(path);
            }
            chosen.push_back(*found);
        }
    }
    if (chosen.size() > 1 && !packer_.several_parts()) {
        std::string names;
        for (const Part& part : chosen) names += fmt::format("{}{}", names.empty() ? "" : ", ", printable(part.name));
        throw Error(ErrorKind::usage,
                    fmt::format("{} keeps one part a sample, and this one has {}", packer_.format(), names))
            .at(path)
            .advise("Choose one with --parts, or pack as webdataset or tfrecord");
    }
    views.parts = std::move(chosen);
}

}  // namespace feedline
