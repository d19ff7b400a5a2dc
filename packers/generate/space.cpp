#include "packers/generate/space.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "core/units.h"

namespace feedline {
namespace {

struct FreeSpace {
    std::uint64_t block_bytes;
    std::uint64_t bytes;
    std::uint64_t inodes;  // the largest number where the filesystem has no fixed count
};

FreeSpace free_space(int directory_fd, const std::string& path) {
    struct statvfs info {};
    if (::fstatvfs(directory_fd, &info) != 0) throw system_error(errno, "cannot ask for free space", path);
    const std::uint64_t block = std::max<std::uint64_t>(info.f_frsize, 1);
    const bool unlimited = info.f_files == 0;
    return {block, info.f_bavail * block, unlimited ? std::numeric_limits<std::uint64_t>::max() : info.f_favail};
}

Error too_large(std::string message, const std::string& path) {
    return Error(ErrorKind::out_of_space, std::move(message))
        .at(path)
        .advise("Ask for fewer or smaller samples, or write elsewhere");
}

}  // namespace

void require_space(int directory_fd, const std::string& path, const DatasetLayout& layout, const SizeModel& sizes,
                   const Interrupt& interrupt) {
    const FreeSpace space = free_space(directory_fd, path);
    const auto refuse = [&](const char* bound, double bytes) {
        return too_large(fmt::format("there is no room for {}: {}{} would be needed, and {} are free",
                                     format_counted(layout.samples(), "file"), bound, format_size(bytes),
                                     format_size(static_cast<double>(space.bytes))),
                         path);
    };
    // Before the sizes are added up, which takes a while when there are billions: each file takes at least one block.
    if (layout.samples() > space.bytes / space.block_bytes) {
        throw refuse("at least ", static_cast<double>(layout.samples()) * static_cast<double>(space.block_bytes));
    }
    const std::uint64_t inodes = layout.samples() + layout.classes() + 1;
    if (inodes > space.inodes) {
        throw too_large(
            fmt::format("{} files and directories are needed, and the filesystem has {}",
                        format_count(static_cast<double>(inodes)), format_counted(space.inodes, "free inode")),
            path);
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
    if (needed > static_cast<double>(space.bytes)) throw refuse("", needed);
}

Error write_error(int error_number, int directory_fd, const std::string& path, std::uint64_t size_bytes) {
    if (error_number != ENOSPC && error_number != EDQUOT) return system_error(error_number, "cannot write", path);
    struct statvfs info {};
    std::string left = "an unknown amount";
    if (::fstatvfs(directory_fd, &info) == 0) {
        left = fmt::format("{} and {} inodes", format_size(static_cast<double>(info.f_bavail * info.f_frsize)),
                           format_count(static_cast<double>(info.f_favail)));
    }
    return system_error(error_number,
                        size_bytes == 0 ? fmt::format("no space left ({})", left)
                                        : fmt::format("no space for a file of {}, {} left",
                                                      format_size(static_cast<double>(size_bytes)), left),
                        path)
        .advise("What was written is removed again");
}

}  // namespace feedline
