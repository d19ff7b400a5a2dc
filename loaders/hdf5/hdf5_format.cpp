#include "loaders/hdf5/hdf5_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/error.h"
#include "loaders/hdf5/no_label.h"
#include "loaders/hdf5/row_reader.h"
#include "loaders/hdf5/shard_scan.h"
#include "loaders/hdf5/signature.h"
#include "loaders/shards/key_list.h"
#include "loaders/shards/shard_dataset.h"

namespace feedline {
namespace {

using namespace hdf5;

// What the samples have beside their bytes. One list over all shards.
struct Annotations {
    std::vector<std::int64_t> labels;  // labels_a_sample for each sample; empty: none
    std::uint64_t labels_a_sample = 0;
    KeyList keys;  // empty: none
    std::vector<ClassName> classes;
    std::vector<std::string> parts;         // their names, where a sample consists of several
    std::vector<std::uint64_t> part_bytes;  // their lengths
    std::string layout;
};

class Hdf5Dataset final : public ShardDataset {
public:
    Hdf5Dataset(std::string path, ShardList list, ExtentIndex index, Annotations annotations, bool plain,
                std::shared_ptr<const hdf5::Source> source)
        : ShardDataset(std::move(path), "hdf5", std::move(list), std::move(index)),
          about_(std::move(annotations)),
          plain_(plain),
          source_(std::move(source)),
          info_(ShardDataset::info()) {
        info_.layout = about_.layout;
        info_.classes = std::move(about_.classes);
    }

    const DatasetInfo& info() const override { return info_; }

    std::string key(SampleId id) const override {
        return about_.keys.size() == 0 ? ShardDataset::key(id) : std::string(about_.keys[id]);
    }

    std::optional<std::int64_t> label(SampleId id) const override {
        if (about_.labels_a_sample != 1 || lacks_label(id)) return std::nullopt;
        return about_.labels[id];
    }

    SampleViews views(SampleId id, std::span<const std::byte> record) const override {
        SampleViews found;
        if (about_.labels_a_sample > 1) {
            const auto begin = about_.labels.begin() + static_cast<std::ptrdiff_t>(id * about_.labels_a_sample);
            found.label = std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(about_.labels_a_sample));
        } else if (about_.labels_a_sample == 1 && !lacks_label(id)) {
            found.label = about_.labels[id];
            found.class_name = class_name(about_.labels[id]);
        }
        if (about_.parts.empty()) {
            if (about_.keys.size() > 0) found.original_path = about_.keys[id];
            found.parts.push_back({ending_of(found.original_path), record});
            return found;
        }
        for (std::size_t i = 0; i < about_.parts.size(); ++i) {
            const auto bytes = static_cast<std::size_t>(about_.part_bytes[i]);
            if (bytes > record.size()) {
                found.problem = "the record is shorter than its parts";
                found.parts.clear();
                return found;
            }
            found.parts.push_back({about_.parts[i], record.first(bytes)});
            record = record.subspan(bytes);
        }
        return found;
    }

    bool has_extents() const override { return plain_; }
    std::unique_ptr<NativeReader> native_reader() const override { return make_row_reader(source_); }

private:
    bool lacks_label(SampleId id) const {
        return source_->kind == Selection::Kind::packed && about_.labels[id] == kNoLabel;
    }

    // Behind the last dot of a file's name; empty: there is none.
    static std::string ending_of(std::string_view path) {
        const std::string_view name = path.substr(path.rfind('/') + 1);
        const std::size_t dot = name.rfind('.');
        return dot == std::string_view::npos ? std::string() : std::string(name.substr(dot + 1));
    }

    std::string class_name(std::int64_t label) const {
        const auto found = std::lower_bound(info_.classes.begin(), info_.classes.end(), label,
                                            [](const ClassName& c, std::int64_t wanted) { return c.label < wanted; });
        return found != info_.classes.end() && found->label == label ? found->name : std::string();
    }

    Annotations about_;
    bool plain_;
    std::shared_ptr<const hdf5::Source> source_;
    DatasetInfo info_;
};

void add(std::vector<Oddity>& all, const Oddity& more) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Oddity& o) { return o.kind == more.kind; });
    if (same == all.end()) {
        all.push_back(more);
    } else {
        same->count += more.count;
    }
}

// Puts what shards hold together.
class Assembly {
public:
    explicit Assembly(std::size_t shards) : all_labelled_(true), all_keyed_(true) { scanned_.reserve(shards); }

    void add_shard(const ShardFile& file, ScannedShard shard) {
        if (shard.samples > 0) agree(file, shard);
        scanned_.push_back(std::move(shard));
    }

    // `list` loses nothing and gains oddities.
    std::unique_ptr<Dataset> finish(const std::string& path, ShardList list) {
        const bool plain = obstacle_.empty();
        ExtentIndex index;
        Annotations about;
        auto source = std::make_shared<hdf5::Source>();
        if (first_) {
            source->kind = first_->kind;
            for (const DatasetDescription& column : first_->columns) source->columns.push_back(column.name);
            about.layout = first_->words() + (plain ? "" : ", " + obstacle_ + ": only the library can read them");
        }
        for (std::size_t i = 0; i < scanned_.size(); ++i) {
            ScannedShard& shard = scanned_[i];
            index.begin_shard();
            source->shards.push_back(
                {list.shards[i].path, list.shards[i].size_bytes, index.samples(), shard.begin_bytes});
            for (std::uint64_t s = 0; s < shard.samples; ++s) index.add(shard.offset(s), shard.length(s));
            take_annotations(shard, about);
            for (const Oddity& oddity : shard.oddities) add(list.oddities, oddity);
            shard = ScannedShard{};
        }
        if (!all_labelled_) about.labels_a_sample = 0;
        count_classes(about);
        return std::make_unique<Hdf5Dataset>(path, std::move(list), std::move(index), std::move(about), plain,
                                             std::move(source));
    }

private:
    // Shards of one dataset are laid out alike.
    void agree(const ShardFile& file, const ScannedShard& shard) {
        if (obstacle_.empty()) obstacle_ = shard.obstacle;
        all_labelled_ = all_labelled_ && !shard.labels.empty() &&
                        (labels_a_sample_ == 0 || labels_a_sample_ == shard.labels_a_sample);
        labels_a_sample_ = shard.labels_a_sample;
        all_keyed_ = all_keyed_ && shard.keys.size() > 0;
        if (!first_) {
            first_ = shard.selection;
            part_bytes_ = shard.part_bytes;
            return;
        }
        const auto alike = [](const DatasetDescription& a, const DatasetDescription& b) {
            return a.name == b.name && a.element == b.element && a.element_bytes == b.element_bytes;
        };
        const std::vector<DatasetDescription>& columns = shard.selection.columns;
        if (shard.selection.kind != first_->kind ||
            !std::equal(columns.begin(), columns.end(), first_->columns.begin(), first_->columns.end(), alike) ||
            (columns.size() > 1 && shard.part_bytes != part_bytes_)) {
            throw Error(ErrorKind::usage, fmt::format("shards are laid out differently: {} here, {} in the first",
                                                      shard.selection.words(), first_->words()))
                .at(file.path)
                .advise("Name the shards of one kind by a pattern");
        }
    }

    void take_annotations(ScannedShard& shard, Annotations& about) {
        if (all_labelled_) {
            about.labels.insert(about.labels.end(), shard.labels.begin(), shard.labels.end());
            about.labels_a_sample = labels_a_sample_;
        }
        if (all_keyed_) {
            for (std::size_t i = 0; i < shard.keys.size(); ++i) about.keys.add(shard.keys[i]);
        }
        for (ClassName& name : shard.classes) classes_.emplace(name.label, std::move(name));
        if (first_ && first_->columns.size() > 1 && about.parts.empty()) {
            for (const DatasetDescription& column : first_->columns) about.parts.push_back(column.name.substr(1));
            about.part_bytes = part_bytes_;
        }
    }

    // Named or numbered, with their samples; numbers that are no classes (a measured quantity, say) are left alone.
    void count_classes(Annotations& about) {
        constexpr std::size_t kMostClasses = 1U << 16U;
        if (about.labels_a_sample != 1) return;
        const bool packed = first_ && first_->kind == Selection::Kind::packed;
        for (const std::int64_t label : about.labels) {
            if (packed && label == kNoLabel) continue;
            auto found = classes_.find(label);
            if (found == classes_.end()) {
                if (classes_.size() == kMostClasses) return;
                found = classes_.emplace(label, ClassName{std::to_string(label), label, 0}).first;
            }
            ++found->second.samples;
        }
        for (auto& [label, name] : classes_) about.classes.push_back(std::move(name));
    }

    std::vector<ScannedShard> scanned_;
    std::optional<Selection> first_;
    std::vector<std::uint64_t> part_bytes_;
    std::string obstacle_;
    bool all_labelled_;
    bool all_keyed_;
    std::uint64_t labels_a_sample_ = 0;
    std::map<std::int64_t, ClassName> classes_;
};

}  // namespace

Confidence Hdf5Format::probe(const std::string& path) const {
    return shards_look_like(path, has_signature) ? Confidence::yes : Confidence::no;
}

std::unique_ptr<Dataset> Hdf5Format::open(const std::string& path, const OpenOptions& options) const {
    ShardList list = list_shards(path, name(), has_signature);
    Assembly assembly(list.shards.size());
    Oddity broken{"broken shard", 0, ""};
    std::optional<Error> first_error;
    std::uint64_t samples = 0;
    for (const ShardFile& shard : list.shards) {
        ScannedShard scanned;
        try {
            scanned = scan_shard(shard.path, options.hdf5_dataset);
        } catch (const Error& error) {
            if (!options.skip_corrupt || error.kind() != ErrorKind::corrupt) throw;
            if (broken.count++ == 0) {
                broken.example = error.what();
                first_error = error;
            }
            broken.lost_bytes += shard.size_bytes;
            scanned = ScannedShard{};
        }
        samples += scanned.samples;
        assembly.add_shard(shard, std::move(scanned));
        if (options.progress != nullptr) options.progress(samples, options.progress_context);
    }
    if (samples == 0 && first_error) throw Error(*first_error);  // there is nothing to go on with
    if (broken.count > 0) list.oddities.push_back(std::move(broken));
    if (samples == 0) throw Error(ErrorKind::usage, "the HDF5 dataset holds no samples").at(path);
    return assembly.finish(path, std::move(list));
}

}  // namespace feedline
