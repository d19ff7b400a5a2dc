#include "loaders/pth/pth_format.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/beginning.h"
#include "core/error.h"
#include "loaders/pth/container.h"
#include "loaders/pth/pth_dataset.h"
#include "loaders/pth/samples.h"
#include "loaders/shards/parallel.h"
#include "loaders/shards/window.h"

namespace feedline {
namespace {

using namespace pth;

bool sniff(const std::string& path) {
    const std::vector<std::byte> start = beginning_of(AT_FDCWD, path.c_str(), kStartBytes);
    const Form form = form_of(start);
    return form == Form::zip ? is_torch_zip(path) : form != Form::none;
}

// Shards are opened side by side and joined in their order.
class Joiner {
public:
    explicit Joiner(std::string path) : path_(std::move(path)) {}

    void add(const ShardFile& shard, Samples&& samples) {
        PthDataset::Parts& all = parts_;
        const std::uint64_t before = all.plain.samples();
        all.plain.begin_shard();
        for (const Record& record : samples.records) all.plain.add(record.offset_bytes, record.length_bytes);
        for (Strided& strided : samples.strided) {
            strided.first += before;
            all.strided.push_back(std::move(strided));
        }
        if (!samples.layout.empty()) {
            all.layout = all.layout.empty() || all.layout == samples.layout ? samples.layout : "mixed";
        }
        all.names_are_paths = all.names_are_paths || samples.names_are_paths;
        fill(all.labels, samples.labels, before, kNoLabel);
        fill(all.checksums, samples.checksums, before, std::uint32_t{0});
        if (!samples.names.empty()) {
            while (all.names.size() < before) all.names.add("");
            for (const std::string& name : samples.names) all.names.add(name);
        }
        for (auto& [name, label] : samples.classes) add_class(shard, std::move(name), label);
        beside_ += samples.beside;
        if (samples.unread_labels.empty()) return;
        if (unread_labels_.count++ == 0) {
            unread_labels_.example = fmt::format("{} in {}", samples.unread_labels, shard.path);
        }
    }

    std::unique_ptr<Dataset> finish(ShardList list) {
        const std::uint64_t count = parts_.plain.samples();
        if (count == 0) throw Error(ErrorKind::usage, "no tensors in this .pth file").at(path_);
        fill(parts_.labels, {}, count, kNoLabel);
        fill(parts_.checksums, {}, count, std::uint32_t{0});
        while (parts_.names.size() > 0 && parts_.names.size() < count) parts_.names.add("");
        for (auto& [name, label] : labels_) parts_.classes.push_back({name, label, 0});
        if (unread_labels_.count > 0) list.oddities.push_back(std::move(unread_labels_));
        if (beside_ > 0) list.oddities.push_back({"tensor beside the samples", beside_, ""});
        return PthDataset::make(path_, std::move(list), std::move(parts_));
    }

private:
    // A list with one entry a sample, from the first shard on that has any.
    template <typename T>
    static void fill(std::vector<T>& all, const std::vector<T>& more, std::uint64_t before, T none) {
        if (all.empty() && more.empty()) return;
        all.resize(before, none);
        all.insert(all.end(), more.begin(), more.end());
    }

    void add_class(const ShardFile& shard, std::string name, std::int64_t label) {
        const auto [known, added] = labels_.try_emplace(std::move(name), label);
        if (added || known->second == label) return;
        throw Error(ErrorKind::corrupt, fmt::format("class {} is {} in this shard, and {} in another one",
                                                    printable(known->first), label, known->second))
            .at(shard.path);
    }

    std::string path_;
    PthDataset::Parts parts_;
    std::map<std::string, std::int64_t> labels_;  // of classes, by name
    std::uint64_t beside_ = 0;
    Oddity unread_labels_{"shard whose labels are not understood, so that its samples have none", 0, ""};
};

struct Opened {
    Samples samples;
    std::optional<Error> problem;  // why there are none
};

Opened open_shard(const ShardFile& shard, bool skip_corrupt) {
    try {
        FileWindow file(shard.path, shard.size_bytes);
        return {samples_of(open_container(file), shard.path), {}};
    } catch (const Error& error) {
        if (!skip_corrupt || error.kind() != ErrorKind::corrupt) throw;
        return {{}, error};
    }
}

}  // namespace

Confidence PthFormat::probe(const std::string& path) const {
    return shards_look_like(path, sniff) ? Confidence::yes : Confidence::no;
}

std::unique_ptr<Dataset> PthFormat::open(const std::string& path, const OpenOptions& options) const {
    constexpr unsigned kThreads = 16;  // directories and pickles: a few random reads a shard
    ShardList list = list_shards(path, name(), sniff);
    std::vector<Opened> opened(list.shards.size());
    std::atomic<std::uint64_t> found{0};
    std::mutex progress;
    for_each_index(list.shards.size(), options.threads == 0 ? kThreads : options.threads, [&](std::size_t i) {
        opened[i] = open_shard(list.shards[i], options.skip_corrupt);
        const std::uint64_t samples = found += opened[i].samples.records.size();
        if (options.progress == nullptr) return;
        const std::lock_guard lock(progress);
        options.progress(samples, options.progress_context);
    });
    Joiner joiner(path);
    Oddity broken{"broken shard", 0, ""};
    std::optional<Error> first_error;
    for (std::size_t i = 0; i < opened.size(); ++i) {
        if (opened[i].problem) {
            if (broken.count++ == 0) broken.example = opened[i].problem->what();
            if (!first_error) first_error = opened[i].problem;
            broken.lost_bytes += list.shards[i].size_bytes;
        }
        joiner.add(list.shards[i], std::move(opened[i].samples));
        opened[i] = {};
    }
    if (found == 0 && first_error) throw Error(*first_error);  // there is nothing to go on with
    if (broken.count > 0) list.oddities.push_back(std::move(broken));
    return joiner.finish(std::move(list));
}

}  // namespace feedline
