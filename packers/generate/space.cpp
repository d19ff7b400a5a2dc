#include "packers/generate/space.h"

#include <fmt/format.h>

#include "core/units.h"
#include "packers/output/free_space.h"

namespace feedline {

void require_space(const std::string& path, const DatasetLayout& layout, const SizeModel& sizes,
                   const Interrupt& interrupt) {
    const FreeSpace space = free_space(path);
    const auto refuse = [&](const char* bound, double bytes) {
        return no_room(fmt::format("{} take {}", format_counted(layout.samples(), "file"), bound), bytes, space, path);
    };
    // Before the sizes are added up, which takes a while when there are billions: each file takes at least one block.
    if (layout.samples() > space.bytes / space.block_bytes) {
        throw refuse("at least", static_cast<double>(layout.samples()) * static_cast<double>(space.block_bytes));
    }
    const std::uint64_t inodes = layout.samples() + layout.classes() + 1;
    if (inodes > space.inodes) {
        throw Error(ErrorKind::out_of_space,
                    fmt::format("{} files and directories are needed, and the filesystem has {}",
                                format_count(static_cast<double>(inodes)), format_counted(space.inodes, "free inode")))
            .at(path)
            .advise("Ask for fewer samples, or write elsewhere");
    }
    // A directory entry with a name as ours takes up to 48 bytes on the filesystems we know, and directories are seldom
    // more than half full.
    constexpr std::uint64_t kEntryBytes = 96;
    constexpr std::uint64_t kSamplesPerLook = 65536;
    const auto whole_blocks = [&](std::uint64_t bytes) {
        return (bytes + space.block_bytes - 1) / space.block_bytes * space.block_bytes;
    };
    const std::uint64_t directories = layout.classes() * whole_blocks(layout.largest_class_samples() * kEntryBytes);
    auto needed = static_cast<double>(directories);
    for (std::uint64_t i = 0; i < layout.samples(); ++i) {
        if (i % kSamplesPerLook == 0 && interrupt.requested()) throw Error(ErrorKind::interrupted, "interrupted");
        needed += static_cast<double>(whole_blocks(sizes.size_bytes(i)));
    }
    if (needed > static_cast<double>(space.bytes)) throw refuse("about", needed);
}

}  // namespace feedline
