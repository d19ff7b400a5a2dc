#include "loaders/pth/pth_dataset.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <new>
#include <string_view>
#include <utility>

#include "core/crc32.h"
#include "core/fd.h"
#include "loaders/pth/gather.h"

namespace feedline::pth {
namespace {

// Puts in order what lies in another one, and reads what lies between.
class Reader final : public NativeReader {
public:
    explicit Reader(const PthDataset& dataset) : dataset_(dataset) {}

    std::int64_t read(SampleId id, const Extent& extent, std::span<std::byte> destination) override {
        const auto length = static_cast<std::size_t>(extent.length_bytes);
        try {
            const int error = put(id, extent.shard, destination.first(length));
            if (error == -ENODATA) return 0;  // the file became shorter
            return error != 0 ? error : static_cast<std::int64_t>(length);
        } catch (const std::bad_alloc&) {
            return -ENOMEM;
        }
    }

private:
    struct OpenShard {
        ShardId shard = 0;
        Fd fd;
    };

    int put(SampleId id, ShardId shard, std::span<std::byte> destination) {
        const int fd = open_shard(shard);
        if (fd < 0) return fd;
        const Strided* strided = dataset_.strided(id);
        if (strided == nullptr) return read_fully(fd, dataset_.plain_extent(id).offset_bytes, destination);
        if (held_shard_ != shard) gather_.forget();
        held_shard_ = shard;
        const std::optional<std::uint64_t> row = strided->rows ? std::optional(id - strided->first) : std::nullopt;
        return gather_.read(fd, strided->tensor, row, destination);
    }

    // A descriptor, or -errno.
    int open_shard(ShardId shard) {
        const auto found = std::find_if(open_.begin(), open_.end(),
                                        [&](const OpenShard& open) { return open.fd && open.shard == shard; });
        if (found != open_.end()) return found->fd.get();
        Fd fd(open(dataset_.path(shard).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        if (!fd) return -errno;
        OpenShard& oldest = open_[next_++ % open_.size()];
        oldest = {shard, std::move(fd)};
        return oldest.fd.get();
    }

    const PthDataset& dataset_;
    Gather gather_;
    ShardId held_shard_ = 0;
    std::array<OpenShard, 16> open_;
    std::size_t next_ = 0;
};

// Extents of what has none: as if the samples of a shard followed each other.
ExtentIndex stream_of(const ExtentIndex& plain) {
    ExtentIndex stream;
    for (ShardId shard = 0; shard < plain.shards(); ++shard) {
        stream.begin_shard();
        std::uint64_t offset = 0;
        for (SampleId id = plain.first_sample(shard); id < plain.first_sample(shard + 1); ++id) {
            const std::uint64_t length = plain.extent(id).length_bytes;
            stream.add(offset, length);
            offset += length;
        }
    }
    return stream;
}

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::unique_ptr<PthDataset> PthDataset::make(std::string path, ShardList list, Parts parts) {
    ExtentIndex index = parts.strided.empty() ? std::move(parts.plain) : stream_of(parts.plain);
    return std::unique_ptr<PthDataset>(
        new PthDataset(std::move(path), std::move(list), std::move(index), std::move(parts)));
}

PthDataset::PthDataset(std::string path, ShardList list, ExtentIndex index, Parts parts)
    : ShardDataset(std::move(path), "pth", std::move(list), std::move(index)),
      parts_(std::move(parts)),
      info_(ShardDataset::info()) {
    info_.layout = parts_.layout + (parts_.strided.empty() ? "" : ", strided");
    info_.classes = std::move(parts_.classes);
    for (std::size_t i = 0; i < info_.classes.size(); ++i) class_of_label_.emplace(info_.classes[i].label, i);
    for (const std::int64_t label : parts_.labels) {
        const auto known = class_of_label_.find(label);
        if (known != class_of_label_.end()) ++info_.classes[known->second].samples;
    }
    find_namesakes();
}

// By hash: where two differing names share one, the later goes without, which harms nobody.
void PthDataset::find_namesakes() {
    std::vector<std::pair<std::size_t, SampleId>> hashes;
    hashes.reserve(parts_.names.size());
    for (SampleId id = 0; id < parts_.names.size(); ++id) {
        const std::size_t shard = parts_.names_are_paths ? 0 : index().extent(id).shard;
        hashes.emplace_back(std::hash<std::string_view>()(parts_.names[id]) + shard, id);
    }
    std::sort(hashes.begin(), hashes.end());
    for (std::size_t i = 1; i < hashes.size(); ++i) {
        if (hashes[i].first == hashes[i - 1].first) namesakes_.push_back(hashes[i].second);
    }
    std::sort(namesakes_.begin(), namesakes_.end());
}

std::string PthDataset::key(SampleId id) const {
    const std::string_view name = id < parts_.names.size() ? parts_.names[id] : std::string_view();
    if (name.empty() || std::binary_search(namesakes_.begin(), namesakes_.end(), id)) return ShardDataset::key(id);
    // Names of tensors are the same in every shard.
    if (parts_.names_are_paths || info_.shards == 1) return std::string(name);
    return fmt::format("{}#{}", base_name(shards()[index().extent(id).shard].path), name);
}

std::optional<std::int64_t> PthDataset::label(SampleId id) const {
    if (parts_.labels.empty() || parts_.labels[id] == kNoLabel) return std::nullopt;
    return parts_.labels[id];
}

std::unique_ptr<NativeReader> PthDataset::native_reader() const {
    if (has_extents()) return ShardDataset::native_reader();
    return std::make_unique<Reader>(*this);
}

const Strided* PthDataset::strided(SampleId id) const {
    const auto after = std::upper_bound(parts_.strided.begin(), parts_.strided.end(), id,
                                        [](SampleId sample, const Strided& strided) { return sample < strided.first; });
    if (after == parts_.strided.begin()) return nullptr;
    const Strided& candidate = *(after - 1);
    return id - candidate.first < candidate.count ? &candidate : nullptr;
}

SampleViews PthDataset::views(SampleId id, std::span<const std::byte> record) const {
    SampleViews found = ShardDataset::views(id, record);
    if (const std::optional<std::int64_t> number = label(id)) {
        const auto known = class_of_label_.find(*number);
        if (known != class_of_label_.end()) found.class_name = info_.classes[known->second].name;
    }
    if (parts_.names_are_paths) {
        found.original_path = parts_.names[id];
        const std::string_view file = base_name(parts_.names[id]);
        const std::size_t dot = file.rfind('.');
        if (dot != std::string_view::npos) found.parts.front().name = file.substr(dot + 1);
    }
    return found;
}

std::string PthDataset::check(SampleId id, std::span<const std::byte> record) const {
    if (parts_.checksums.empty() || parts_.checksums[id] == 0 || crc32(record) == parts_.checksums[id]) return {};
    return "the CRC32 of the tensor's storage does not match";
}

}  // namespace feedline::pth
