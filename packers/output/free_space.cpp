#include "packers/output/free_space.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>

#include "core/units.h"
#include "packers/output/paths.h"

namespace feedline {
namespace {

std::optional<FreeSpace> look(const std::string& directory) {
    struct statvfs info {};
    if (::statvfs(directory.c_str(), &info) != 0) return std::nullopt;
    const std::uint64_t block = std::max<std::uint64_t>(info.f_frsize, 1);
    const bool unlimited = info.f_files == 0;
    return FreeSpace{block, info.f_bavail * block,
                     unlimited ? std::numeric_limits<std::uint64_t>::max() : info.f_favail};
}

}  // namespace

FreeSpace free_space(const std::string& directory) {
    if (const std::optional<FreeSpace> space = look(directory)) return *space;
    throw system_error(errno, "cannot ask for free space", directory);
}

Error no_room(std::string_view needs, double bytes, const FreeSpace& space, const std::string& path) {
    return Error(ErrorKind::out_of_space,
                 fmt::format("there is no room: {} {}, and {} are free", needs, format_size(bytes),
                             format_size(static_cast<double>(space.bytes))))
        .at(path)
        .advise("Make room, write less, or write elsewhere");
}

Error cannot_write(int error_number, const std::string& path, std::uint64_t offset_bytes, std::string_view when_full) {
    if (error_number != ENOSPC && error_number != EDQUOT) {
        return Error(ErrorKind::io, "cannot write").at(path, offset_bytes).because(error_number);
    }
    const std::optional<FreeSpace> left = look(parent_directory(path));
    const std::string inodes = !left || left->inodes == std::numeric_limits<std::uint64_t>::max()
                                   ? ""
                                   : fmt::format(" and {}", format_counted(left->inodes, "inode"));
    return Error(ErrorKind::out_of_space,
                 left ? fmt::format("no space left ({}{})", format_size(static_cast<double>(left->bytes)), inodes)
                      : std::string("no space left"))
        .at(path, offset_bytes)
        .because(error_number)
        .advise(when_full);
}

}  // namespace feedline
