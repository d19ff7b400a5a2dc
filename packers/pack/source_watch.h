// Whether the files that samples come from stay as they are while they are read.
//
// A file is told by its size, its mtime and its ctime: who writes changes both times, and who renames another file over
// it brings that one's ctime. Not by inode numbers: some filesystems (FUSE, FAT) number a file anew whenever the kernel
// has forgotten it. So what gets another mode or another link during the run counts as changed, too: that cannot be
// told from a rewrite whose mtime was set back.
//
// Thread-safety: const members may be called from any thread at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

class SourceWatch {
public:
    // Looks at all files of a packed source: what is known of them is of now, and holds for the whole run.
    explicit SourceWatch(std::shared_ptr<const Dataset> source);

    // Some files as they were. 12 bytes each.
    struct Look {
        std::vector<ShardId> files;         // ascending
        std::vector<std::uint64_t> stamps;  // of each
    };
    // The files in which `ids` lie, before these are read. A file that is not there is noticed by who reads it.
    Look look(std::span<const SampleId> ids) const;
    // Which of them are not as they were, ascending.
    std::vector<ShardId> changed(const Look& look) const;

private:
    std::shared_ptr<const Dataset> source_;
    std::vector<std::uint64_t> stamps_;  // of a packed source, by shard
};

}  // namespace feedline
