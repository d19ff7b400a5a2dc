#include "loaders/webdataset/webdataset_format.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/beginning.h"
#include "core/error.h"
#include "loaders/shards/chain.h"
#include "loaders/shards/key_list.h"
#include "loaders/shards/shard_dataset.h"
#include "loaders/webdataset/sample_parts.h"
#include "loaders/webdataset/tar_chain.h"
#include "loaders/webdataset/tar_header.h"

namespace feedline {
namespace {

using namespace webdataset;

class WebdatasetDataset final : public ShardDataset {
public:
    WebdatasetDataset(std::string path, ShardList list, ExtentIndex index, KeyList keys,
                      std::vector<std::shared_ptr<const AccessPoints>> access)
        : ShardDataset(std::move(path), "webdataset", std::move(list), std::move(index), std::move(access)),
          keys_(std::move(keys)) {}

    std::string key(SampleId id) const override { return std::string(keys_[id]); }

    SampleViews views(SampleId /*id*/, std::span<const std::byte> record) const override { return views_of(record); }

    std::span<const std::byte> payload(SampleId id, std::span<const std::byte> record) const override {
        const SampleViews found = views(id, record);
        return found.parts.empty() ? std::span<const std::byte>{} : found.parts.front().bytes;
    }

    std::string check(SampleId id, std::span<const std::byte> record) const override {
        return views(id, record).problem;
    }

private:
    KeyList keys_;
};

bool is_header(std::span<const std::byte> start) {
    return start.size() == tar::kBlockBytes && tar::parse_header(start.first<tar::kBlockBytes>());
}

bool sniff(const std::string& path) {
    const std::vector<std::byte> start = beginning_of(AT_FDCWD, path.c_str(), tar::kBlockBytes);
    if (is_header(start)) return true;
    if (!looks_compressed(start)) return false;
    // What cannot be looked into is taken by its name, to be refused for what it is.
    if (!can_inflate()) return path.ends_with(".tar.gz") || path.ends_with(".tgz");
    return is_header(inflated_beginning(path, tar::kBlockBytes));
}

// Members of one sample follow each other; what belongs to no sample may stand between them.
class Grouping {
public:
    void shard(std::span<const WalkedRecord> members) {
        index_.begin_shard();
        const WalkedRecord* first = nullptr;
        const WalkedRecord* last = nullptr;
        const auto close = [&] {
            if (first != nullptr) {
                index_.add(first->begin_bytes, last->end_bytes - first->begin_bytes);
                keys_.add(first->name);
            }
            first = nullptr;
        };
        for (const WalkedRecord& member : members) {
            if (member.name.empty()) {
                ++passed_over_;
                continue;
            }
            if (first != nullptr && first->name != member.name) close();
            if (first == nullptr) first = &member;
            last = &member;
        }
        close();
    }

    ExtentIndex take_index() { return std::move(index_); }
    KeyList take_keys() { return std::move(keys_); }
    std::uint64_t passed_over() const { return passed_over_; }

private:
    ExtentIndex index_;
    KeyList keys_;
    std::uint64_t passed_over_ = 0;
};

}  // namespace

Confidence WebdatasetFormat::probe(const std::string& path) const {
    return shards_look_like(path, sniff) ? Confidence::yes : Confidence::no;
}

std::unique_ptr<Dataset> WebdatasetFormat::open(const std::string& path, const OpenOptions& options) const {
    ShardList list = list_shards(path, name(), sniff);
    Grouping grouping;
    WalkedShards walked =
        walk_shards(list.shards, TarChain(), chain_options(options),
                    [&](std::size_t /*shard*/, std::span<const WalkedRecord> members) { grouping.shard(members); });
    list.oddities.insert(list.oddities.end(), walked.oddities.begin(), walked.oddities.end());
    if (grouping.passed_over() > 0) list.oddities.push_back({"member of no sample", grouping.passed_over(), ""});
    ExtentIndex index = grouping.take_index();
    if (index.samples() == 0) {
        throw Error(ErrorKind::usage, "no samples in these tar archives")
            .at(path)
            .advise("Members are named KEY.EXTENSION, as in 000042.jpg");
    }
    return std::make_unique<WebdatasetDataset>(path, std::move(list), std::move(index), grouping.take_keys(),
                                               std::move(walked.access));
}

}  // namespace feedline
