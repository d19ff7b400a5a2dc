#include "loaders/lmdb/lmdb_format.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/beginning.h"
#include "core/error.h"
#include "loaders/lmdb/conventions.h"
#include "loaders/lmdb/datum.h"
#include "loaders/lmdb/page_tree.h"
#include "loaders/shards/shard_dataset.h"

namespace feedline {
namespace {

using namespace lmdb;

// Keys one after the other: 8 bytes a sample and their own length.
class KeyList {
public:
    void add(std::string_view key) {
        bytes_ += key;
        ends_.push_back(bytes_.size());
    }
    std::string_view operator[](std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::string_view(bytes_).substr(begin, ends_[i] - begin);
    }

private:
    std::string bytes_;
    std::vector<std::size_t> ends_;
};

class LmdbDataset final : public ShardDataset {
public:
    LmdbDataset(std::string path, ShardList list, ExtentIndex index, KeyList keys)
        : ShardDataset(std::move(path), "lmdb", std::move(list), std::move(index)), keys_(std::move(keys)) {}

    std::string key(SampleId id) const override { return std::string(keys_[id]); }

    std::span<const std::byte> payload(SampleId /*id*/, std::span<const std::byte> record) const override {
        const std::optional<Datum> datum = parse_datum(record);
        return datum ? datum->data : record;
    }

private:
    KeyList keys_;
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
        if (!set.shards.empty()) return set;
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
    std::uint64_t others = 0;
};

Samples read_samples(const ShardFile& shard) {
    FileWindow file(shard.path, shard.size_bytes);
    const Meta meta = read_meta(file);
    // OCR sets keep images and labels as entries of their own: the label belongs to its image.
    bool pairs = false;
    Samples all;
    Samples images;
    for_each_entry(file, meta, [&](const Entry& entry) {
        if (entry.key == "num-samples") pairs = true;
        if (is_about_the_dataset(entry.key)) {
            ++all.others;
            return;
        }
        all.samples.push_back({entry.offset_bytes, entry.length_bytes});
        all.keys.add(entry.key);
        if (numbered(entry.key, "image")) {
            images.samples.push_back(all.samples.back());
            images.keys.add(entry.key);
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
    Oddity broken{"broken shard", 0, ""};
    for (const ShardFile& shard : list.shards) {
        index.begin_shard();
        try {
            const Samples found = read_samples(shard);
            for (std::size_t i = 0; i < found.samples.size(); ++i) {
                index.add(found.samples[i].offset_bytes, found.samples[i].length_bytes);
                keys.add(found.keys[i]);
            }
        } catch (const Error& error) {
            // The tree of a damaged file leads nowhere: what it held is lost as a whole.
            if (!options.skip_corrupt || error.kind() != ErrorKind::corrupt) throw;
            if (broken.count++ == 0) broken.example = error.what();
        }
        if (options.progress != nullptr) options.progress(index.samples(), options.progress_context);
    }
    if (broken.count > 0) list.oddities.push_back(std::move(broken));
    if (index.samples() == 0) throw Error(ErrorKind::usage, "the LMDB file holds no samples").at(path);
    return std::make_unique<LmdbDataset>(path, std::move(list), std::move(index), std::move(keys));
}

}  // namespace feedline
