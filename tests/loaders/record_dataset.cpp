#include "tests/loaders/record_dataset.h"

#include <fcntl.h>

#include <algorithm>
#include <stdexcept>

namespace feedline::test {

RecordDataset::RecordDataset(std::vector<Extent> records) : records_(std::move(records)) {
    info_.path = "records";
    info_.format = "records";
    info_.samples = records_.size();
    for (const Extent& record : records_) {
        info_.bytes += record.length_bytes;
        info_.max_length_bytes = std::max(info_.max_length_bytes, record.length_bytes);
        info_.shards = std::max<std::uint64_t>(info_.shards, record.shard + 1ULL);
    }
}

std::shared_ptr<RecordDataset> RecordDataset::of_files(const std::vector<std::uint64_t>& lengths_bytes) {
    std::vector<Extent> records;
    records.reserve(lengths_bytes.size());
    for (const std::uint64_t length : lengths_bytes) {
        records.push_back({0, length, static_cast<ShardId>(records.size())});
    }
    auto dataset = std::make_shared<RecordDataset>(std::move(records));
    dataset->directory_ = std::make_unique<TempDir>();
    for (SampleId id = 0; id < dataset->size(); ++id) {
        write_file(dataset->path(static_cast<ShardId>(id)), dataset->content(id));
    }
    dataset->directory_fd_ = Fd(open(dataset->directory_->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!dataset->directory_fd_) throw std::runtime_error("cannot open the test's directory");
    return dataset;
}

std::shared_ptr<RecordDataset> RecordDataset::of_shards(const std::vector<std::uint64_t>& lengths_bytes,
                                                        std::size_t a_shard, std::uint64_t gap_bytes) {
    std::vector<Extent> records;
    std::uint64_t offset = 0;
    for (const std::uint64_t length : lengths_bytes) {
        if (records.size() % a_shard == 0) offset = 0;
        records.push_back({offset, length, static_cast<ShardId>(records.size() / a_shard)});
        offset += length + gap_bytes;
    }
    auto dataset = std::make_shared<RecordDataset>(std::move(records));
    dataset->directory_ = std::make_unique<TempDir>();
    std::vector<std::string> shards(dataset->info_.shards);
    for (SampleId id = 0; id < dataset->size(); ++id) {
        std::string& shard = shards[dataset->record(id).shard];
        shard.resize(dataset->record(id).offset_bytes, '-');
        shard += dataset->content(id);
    }
    for (ShardId shard = 0; shard < shards.size(); ++shard) {
        write_file(dataset->path(shard), shards[shard]);
        dataset->shard_fds_.emplace_back(open(dataset->path(shard).c_str(), O_RDONLY | O_CLOEXEC));
        if (!dataset->shard_fds_.back()) throw std::runtime_error("cannot open the test's shard");
    }
    return dataset;
}

void RecordDataset::locate(std::span<const SampleId> ids, std::span<Extent> extents) const {
    for (std::size_t i = 0; i < ids.size(); ++i) extents[i] = records_.at(ids[i]);
}

Source RecordDataset::source(ShardId shard, std::string& scratch) const {
    if (!shard_fds_.empty()) return {.fd = shard_fds_[shard].get()};
    scratch = name(shard);
    return {.dir_fd = directory_fd_.get(), .name = scratch.c_str(), .whole_file = true};
}

std::string RecordDataset::path(ShardId shard) const {
    return (directory_ ? directory_->path() : info_.path) + "/" + name(shard);
}

std::string RecordDataset::name(ShardId shard) const {
    return "record-" + std::to_string(shard) + ".bin";
}

std::string RecordDataset::content(SampleId id) const {
    return pattern(records_[id].length_bytes, static_cast<unsigned>(id) + 1);
}

}  // namespace feedline::test
