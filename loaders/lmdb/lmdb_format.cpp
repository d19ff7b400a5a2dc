#include "loaders/lmdb/lmdb_format.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/beginning.h"
#include "core/error.h"
#include "core/path_suffix.h"
#include "loaders/lmdb/conventions.h"
#include "loaders/lmdb/datum.h"
#if FEEDLINE_HAVE_LMDB
#include "loaders/lmdb/library_reader.h"
#endif
#include "loaders/lmdb/page_tree.h"
#include "loaders/lmdb/pickled_pair.h"
#include "loaders/shards/key_list.h"
#include "loaders/shards/shard_dataset.h"

namespace feedline {
namespace {

using namespace lmdb;

class LmdbDataset final : public ShardDataset {
public:
    // `pickled`: values may be pickles of bytes and label.
    LmdbDataset(std::string path, ShardList list, ExtentIndex index, KeyList keys, KeyList texts, bool pickled)
        : ShardDataset(std::move(path), "lmdb", std::move(list), std::move(index)),
          keys_(std::move(keys)),
          texts_(std::move(texts)),
          pickled_(pickled) {}

    std::string key(SampleId id) const override { return std::string(keys_[id]); }

    // Without liblmdb there is none: reading forwards is not how anybody reads an LMDB file.
    std::unique_ptr<NativeReader> native_reader() const override {
#if FEEDLINE_HAVE_LMDB
        return std::make_unique<LibraryReader>(shards(), keys_, *environments_);
#else
        return nullptr;
#endif
    }

    SampleViews views(SampleId id, std::span<const std::byte> record) const override {
        const Content content = content_of(record);
        SampleViews found;
        found.original_path = path_in(keys_[id]);
        std::string_view ending = path_suffix(found.original_path);
        if (!ending.empty()) ending.remove_prefix(1);
        found.parts.push_back({std::string(ending), content.data});
        found.label = content.label;
        if (id < texts_.size() && !texts_[id].empty()) found.label = std::string(texts_[id]);
        return found;
    }

    std::span<const std::byte> payload(SampleId /*id*/, std::span<const std::byte> record) const override {
        return content_of(record).data;
    }

private:
    struct Content {
        std::span<const std::byte> data;
        Label label;
    };

    Content content_of(std::span<const std::byte> record) const {
        if (pickled_) {
            if (std::optional<PickledPair> pair = parse_pickled_pair(record)) {
                return {pair->data, std::move(pair->label)};
            }
        }
        const std::optional<Datum> datum = parse_datum(record);
        if (!datum) return {record, {}};
        return {datum->data, datum->label ? Label(*datum->label) : Label()};
    }

#if FEEDLINE_HAVE_LMDB
    std::unique_ptr<OpenEnvironments> environments_ = std::make_unique<OpenEnvironments>();
#endif
    KeyList keys_;
    KeyList texts_;  // labels in words, of the first samples or of none; empty where a sample has none
    bool pickled_;
};

bool sniff(const std::string& path) {
    return looks_like_data_file(beginning_of(AT_FDCWD, path.c_str(), kMetaBytes));
}

std::string data_file(const std::string& path) {
    struct stat status {};
    const bool directory = stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    return directory ? path + (path.ends_with('/') ? "" : "/") + "data.mdb" : path;
}

// The data files of the directories in `path`, which are the shards of a set; by name.
ShardList shard_directories(const std::string& path) {
    namespace fs = std::filesystem;
    ShardList list;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
        const std::string file = data_file(entry.path());
        struct stat status {};
        if (entry.path().filename().native().starts_with('.') || stat(file.c_str(), &status) != 0) continue;
        if (entry.is_directory(error) && sniff(file)) {
            list.shards.push_back({file, static_cast<std::uint64_t>(status.st_size)});
        }
    }
    std::sort(list.shards.begin(), list.shards.end(),
              [](const ShardFile& a, const ShardFile& b) { return a.path < b.path; });
    return list;
}

// The one there, or those of a set.
ShardList data_files(const std::string& path) {
    if (!sniff(data_file(path))) {
        ShardList set = shard_directories(path);
        if (!set.shards.empty()) {
            require_finished(path);
            note_manifest(path, set);
            return set;
        }
    }
    return list_shards(data_file(path), "lmdb", sniff);
}

// What one file holds: samples in the order of keys.
struct Samples {
    struct Sample {
        std::uint64_t offset_bytes;
        std::uint64_t length_bytes;
    };
    std::vector<Sample> samples;
    KeyList keys;
    std::vector<std::string> texts;  // of the labels, by sample; or none at all
    bool pickled = false;            // there are the keys that folder2lmdb writes
};

// The label that belongs to one of `images`, whose numbers ascend as keys do.
void add_text(FileWindow& file, const Entry& label, std::uint64_t number, std::span<const std::uint64_t> numbers,
              std::vector<std::string>& texts) {
    constexpr std::uint64_t kLongestText = 1U << 20U;  // what is longer is no label
    const auto image = std::lower_bound(numbers.begin(), numbers.end(), number);
    if (image == numbers.end() || *image != number || label.length_bytes > kLongestText) return;
    const std::span<const std::byte> text = file.at(label.offset_bytes, label.length_bytes);
    texts.resize(numbers.size());
    texts[static_cast<std::size_t>(image - numbers.begin())] =
        std::string(reinterpret_cast<const char*>(text.data()), text.size());
}

Samples read_samples(const ShardFile& shard) {
    FileWindow file(shard.path, shard.size_bytes);
    const Meta meta = read_meta(file);
    // OCR sets keep images and labels as entries of their own: the label belongs to its image.
    bool pairs = false;
    Samples all;
    Samples images;
    std::vector<std::uint64_t> numbers;  // of the images
    for_each_entry(file, meta, [&](const Entry& entry) {
        if (entry.key == "num-samples") pairs = true;
        if (entry.key == "__keys__" || entry.key == "__len__") all.pickled = true;
        if (is_about_the_dataset(entry.key)) return;
        all.samples.push_back({entry.offset_bytes, entry.length_bytes});
        all.keys.add(entry.key);
        if (const std::optional<std::uint64_t> number = numbered(entry.key, "image")) {
            images.samples.push_back(all.samples.back());
            images.keys.add(entry.key);
            numbers.push_back(*number);
        } else if (const std::optional<std::uint64_t> of = numbered(entry.key, "label")) {
            add_text(file, entry, *of, numbers, images.texts);
        }
    });
    if (read_meta(file).transaction != meta.transaction) {
        throw Error(ErrorKind::changed, "another process is writing this LMDB file")
            .at(file.path())
            .advise("Wait until it has ended, or measure a copy (mdb_copy)");
    }
    return pairs && !images.samples.empty() ? std::move(images) : std::move(all);
}

}  // namespace

Confidence LmdbFormat::probe(const std::string& path) const {
    return sniff(data_file(path)) || !shard_directories(path).shards.empty() ? Confidence::yes : Confidence::no;
}

std::unique_ptr<Dataset> LmdbFormat::open(const std::string& path, const OpenOptions& options) const {
    ShardList list = data_files(path);
    ExtentIndex index;
    KeyList keys;
    KeyList texts;
    bool pickled = false;
    Oddity broken{"broken shard", 0, ""};
    std::optional<Error> first_error;
    for (const ShardFile& shard : list.shards) {
        index.begin_shard();
        try {
            const Samples found = read_samples(shard);
            pickled = pickled || found.pickled;
            for (std::size_t i = 0; i < found.samples.size(); ++i) {
                index.add(found.samples[i].offset_bytes, found.samples[i].length_bytes);
                keys.add(found.keys[i]);
            }
            if (!found.texts.empty()) {
                while (texts.size() + found.texts.size() < keys.size()) texts.add("");
                for (const std::string& text : found.texts) texts.add(text);
            }
        } catch (const Error& error) {
            // The tree of a damaged file leads nowhere: what it held is lost as a whole.
            if (!options.skip_corrupt || error.kind() != ErrorKind::corrupt) throw;
            if (broken.count++ == 0) {
                broken.example = error.what();
                first_error = error;
            }
            broken.lost_bytes += shard.size_bytes;
        }
        if (options.progress != nullptr) options.progress(index.samples(), options.progress_context);
    }
    if (index.samples() == 0 && first_error) throw Error(*first_error);  // there is nothing to go on with
    if (broken.count > 0) list.oddities.push_back(std::move(broken));
    if (index.samples() == 0) throw Error(ErrorKind::usage, "the LMDB file holds no samples").at(path);
    return std::make_unique<LmdbDataset>(path, std::move(list), std::move(index), std::move(keys), std::move(texts),
                                         pickled);
}

}  // namespace feedline
