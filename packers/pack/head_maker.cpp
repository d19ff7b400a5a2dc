#include "packers/pack/head_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/path_suffix.h"
#include "packers/output/digest.h"

namespace feedline {
namespace {

// It is the label itself, which is written again.
constexpr std::string_view kLabelPart = "cls";

// Whether the keys of a tar archive's samples, which have no dot in their last component, tell all of them apart; then
// KEY.ENDING does, too, and the key alone where only what follows it differs. What may be escaped is not looked
// through.
bool keys_tell_apart(const Dataset& source) {
    std::vector<std::uint64_t> hashes;
    hashes.reserve(source.size());
    for (SampleId id = 0; id < source.size(); ++id) {
        const std::string key = source.key(id);
        if (key.find('%') != std::string::npos) return false;
        hashes.push_back(feedline::digest(key));
    }
    std::sort(hashes.begin(), hashes.end());
    return std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end();
}

// Two records of a packed source may be of one path, or of none. A dataset that was packed before has such a number
// already.
std::string numbered(std::uint64_t number, const std::string& path) {
    const std::string front = fmt::format("{:08}_", number);
    return path.starts_with(front) ? path : front + path;
}

}  // namespace

HeadMaker::HeadMaker(std::shared_ptr<const Dataset> source, const Packer& packer, std::vector<std::string> parts,
                     LabelChoice labels, std::span<const ClassName> classes)
    : source_(std::move(source)),
      packer_(packer),
      parts_(std::move(parts)),
      labels_(std::move(labels)),
      memory_(SourceMemory::read(*source_)),
      unique_keys_(!memory_ && source_->info().format == "webdataset" && keys_tell_apart(*source_)),
      unique_paths_(!source_->info().packed || memory_ || unique_keys_),
      leaves_(dynamic_cast<const LeavesBehind*>(source_.get())) {
    for (const ClassName& one : classes) class_names_.emplace(one.label, one.name);
    for (const std::string& part : parts_) digest_ = feedline::digest(part, digest_);
    digest_ = feedline::digest(labels_.digest(), digest_);
    for (SampleId id = 0; id < source_->size(); ++id) {
        const std::string key = memory_ ? memory_->path(id) : source_->key(id);
        if (unique_paths_ && !unique_keys_) stems_.add(key);
        digest_ = feedline::digest(key, digest_);
        if (paths_known()) labels_.use(key);
    }
    stems_.close();
}

bool HeadMaker::paths_known() const {
    return memory_ || !source_->info().packed;
}

std::string HeadMaker::unused_labels() const {
    return paths_known() ? labels_.unused() : std::string();
}

std::string HeadMaker::path_of(SampleId id, const SampleViews& views) const {
    if (memory_) return memory_->path(id);
    return views.original_path.empty() ? source_->key(id) : views.original_path;
}

Sample HeadMaker::sample(std::uint64_t number, SampleId id, std::span<const std::byte> record,
                         std::uint64_t record_bytes) const {
    SampleViews views = source_->views(id, record);
    Sample sample{{}, {}, std::move(views.problem)};
    const std::string path = path_of(id, views);
    if (views.parts.empty() && sample.problem.empty()) sample.problem = "the record holds no sample";
    if (sample.problem.empty() && memory_) {
        // What says the label is a part to those who do not know better.
        if (views.parts.size() > memory_->parts(id)) views.parts.resize(memory_->parts(id));
        if (!memory_->are(id, views.parts))
            sample.problem = "these are not the bytes that were packed, by their CRC32C";
        views.label = memory_->label(id);
    }
    if (!sample.problem.empty()) return sample;
    constexpr std::uint64_t kLookedInto = 256;
    if (leaves_ != nullptr && number < kLookedInto) {
        const LeftBehind left = leaves_->left_behind(record);
        const std::lock_guard lock(mutex_);
        left_behind_.add(left);
    }
    choose_parts(views, path);
    // Formats have names of their own for what a suffix says.
    if (memory_ && views.parts.size() == 1) {
        const std::string_view suffix = path_suffix(path);
        views.parts.front().name = suffix.empty() ? "" : suffix.substr(1);
    }

    SampleHead& head = sample.head;
    head.number = number;
    head.path = unique_paths_ ? path : numbered(number, path);
    head.unique_stem = !unique_paths_ || unique_keys_ || stems_.unique(path);
    head.label = labels_.label(path, views.label);
    if (labels_.keeps_own()) head.class_name = class_name(views);
    for (const Part& part : views.parts) {
        head.parts.push_back({part.name, part.bytes.size()});
        sample.contents.push_back(part.bytes);
    }
    // Only a file that is nothing but its one part comes in pieces.
    if (record.size() < record_bytes) head.parts.front().bytes = record_bytes;
    return sample;
}

std::string HeadMaker::class_name(const SampleViews& views) const {
    const auto* number = std::get_if<std::int64_t>(&views.label);
    if (!views.class_name.empty() || number == nullptr) return views.class_name;
    const auto found = class_names_.find(*number);
    return found == class_names_.end() ? std::string() : found->second;
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
