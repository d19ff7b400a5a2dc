#include "packers/pack/source_watch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "packers/output/digest.h"

namespace feedline {
namespace {

constexpr unsigned kAsked = STATX_SIZE | STATX_MTIME | STATX_CTIME;
constexpr std::uint64_t kNotThere = 0;

bool ask(const Source& source, int flags, struct statx& status) {
    const bool open = source.fd >= 0;
    return ::statx(open ? source.fd : source.dir_fd, open ? "" : source.name, flags | (open ? AT_EMPTY_PATH : 0),
                   kAsked, &status) == 0;
}

// `known`: what the client of a network filesystem remembers will do. It is as old as the index, and costs no round
// trip.
std::uint64_t stamp_of(const Dataset& dataset, ShardId shard, bool known) {
    std::string scratch;
    const Source source = dataset.source(shard, scratch);
    struct statx status {};
    const bool remembered = known && ask(source, AT_STATX_DONT_SYNC, status) && (status.stx_mask & kAsked) == kAsked;
    if (!remembered && !ask(source, AT_STATX_SYNC_AS_STAT, status)) return kNotThere;
    std::uint64_t stamp = digest(status.stx_size, 0);
    for (const statx_timestamp& time : {status.stx_mtime, status.stx_ctime}) {
        stamp = digest(time.tv_nsec, digest(static_cast<std::uint64_t>(time.tv_sec), stamp));
    }
    return stamp;
}

}  // namespace

SourceWatch::SourceWatch(std::shared_ptr<const Dataset> source) : source_(std::move(source)) {
    if (!source_->info().packed) return;
    for (ShardId shard = 0; shard < source_->info().shards; ++shard) {
        stamps_.push_back(stamp_of(*source_, shard, true));
    }
}

SourceWatch::Look SourceWatch::look(std::span<const SampleId> ids) const {
    std::vector<Extent> extents(ids.size());
    source_->locate(ids, extents);
    Look look;
    look.files.reserve(ids.size());
    for (const Extent& extent : extents) look.files.push_back(extent.shard);
    std::sort(look.files.begin(), look.files.end());
    look.files.erase(std::unique(look.files.begin(), look.files.end()), look.files.end());
    look.stamps.reserve(look.files.size());
    for (const ShardId file : look.files) {
        look.stamps.push_back(stamps_.empty() ? stamp_of(*source_, file, true) : stamps_[file]);
    }
    return look;
}

std::vector<ShardId> SourceWatch::changed(const Look& look) const {
    std::vector<ShardId> changed;
    for (std::size_t i = 0; i < look.files.size(); ++i) {
        if (stamp_of(*source_, look.files[i], false) != look.stamps[i]) changed.push_back(look.files[i]);
    }
    return changed;
}

}  // namespace feedline
