#include "packers/output/staging_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/incomplete.h"
#include "packers/output/paths.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;

Error usage(std::string message, const std::string& path, std::string_view advice) {
    if (path.empty()) return Error(ErrorKind::usage, std::move(message)).advise(advice);
    return Error(ErrorKind::usage, std::move(message)).at(path).advise(advice);
}

void require_usable(const std::string& destination, bool replace) {
    const fs::path path(destination);
    if (destination.empty()) throw Error(ErrorKind::usage, "no destination given");
    if (!path.has_filename() || path.filename() == "." || path.filename() == "..") {
        throw usage(fmt::format("the destination '{}' has no name of its own", printable(destination)), "",
                    "Name a directory that does not exist yet");
    }
    std::error_code failure;
    const fs::file_status status = fs::symlink_status(path, failure);
    if (status.type() == fs::file_type::not_found) return;
    if (status.type() != fs::file_type::directory) {
        throw usage(status.type() == fs::file_type::symlink ? "the destination is a symbolic link"
                                                            : "the destination exists and is not a directory",
                    destination, "Give another name");
    }
    if (!replace && !fs::is_empty(path, failure)) {
        if (failure) throw system_error(failure.value(), "cannot read the destination", destination);
        throw usage("the destination exists and is not empty", destination, "Remove it or give another name");
    }
    struct statx attributes {};
    if (::statx(AT_FDCWD, destination.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &attributes) == 0 &&
        (attributes.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
        throw usage("the destination is a mount point, over which nothing can be renamed", destination,
                    "Give a directory below it");
    }
}

}  // namespace

StagingDirectory::StagingDirectory(const std::string& destination, const StagingOptions& options)
    : options_(options),
      destination_(without_trailing_slashes(destination)),
      staging_path_(destination_ + ".incomplete") {
    require_usable(destination_, options.replace);
    fs::path parent = fs::path(destination_).parent_path();
    if (parent.empty()) parent = ".";
    parent_ = Fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent_) {
        if (errno == ENOENT) throw usage("the parent directory is missing", parent, "Make it first with mkdir -p");
        if (errno == ENOTDIR) throw usage("the parent is not a directory", parent, "Give another destination");
        throw system_error(errno, "cannot open the parent directory", parent.native());
    }
    acquire();
}

// Makes DST.incomplete and locks its marker, or takes over a leftover. The lock is held before anything is deleted, and
// the marker itself is never deleted before publish(), so two runs cannot both believe that they own the directory.
void StagingDirectory::acquire() {
    const bool made = ::mkdir(staging_path_.c_str(), 0777) == 0;
    if (!made && errno != EEXIST) throw system_error(errno, "cannot make directory", staging_path_);
    directory_ = Fd(::open(staging_path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory_ && (errno == ENOTDIR || errno == ELOOP)) {
        throw usage("something is in the way that was not left by an unfinished run", staging_path_,
                    "Look at it, then remove it or give another destination");
    }
    if (!directory_) throw system_error(errno, "cannot open directory", staging_path_);

    std::error_code failure;
    const bool empty = fs::is_empty(staging_path_, failure);
    struct stat last {};
    const bool nearly_finished = !options_.last_file.empty() && ::fstatat(directory_.get(), options_.last_file.c_str(),
                                                                          &last, AT_SYMLINK_NOFOLLOW) == 0;
    const int create = empty || nearly_finished ? O_CREAT : 0;
    Fd marker(::openat(directory_.get(), kIncompleteMarker, O_RDWR | O_NOFOLLOW | O_CLOEXEC | create, 0666));
    if (!marker && errno == ENOENT) {
        throw usage("there is a directory in the way that was not left by an unfinished run", staging_path_,
                    "Look at it, then remove it or give another destination");
    }
    if (!marker) throw system_error(errno, "cannot mark directory", staging_path_ + "/" + kIncompleteMarker);
    if (::flock(marker.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) throw system_error(errno, "cannot lock", staging_path_ + "/" + kIncompleteMarker);
        throw usage("another run is writing this dataset", staging_path_, "Wait for it or give another destination");
    }
    marker_ = std::move(marker);
    has_leftover_ = !empty;
    if (!has_leftover_ || options_.leftover == StagingOptions::Leftover::keep) return;
    if (options_.leftover == StagingOptions::Leftover::refuse) {
        directory_.reset();  // it is not ours to remove
        throw usage("an unfinished run has left its work here", staging_path_,
                    "Go on with it (--resume), or begin anew (--overwrite)");
    }
    clear();
}

void StagingDirectory::clear() {
    std::error_code failure;
    for (const fs::directory_entry& entry : fs::directory_iterator(staging_path_, failure)) {
        if (entry.path().filename() == kIncompleteMarker) continue;
        fs::remove_all(entry.path(), failure);
        if (failure)
            throw system_error(failure.value(), "cannot clear the leftover of a killed run", entry.path().native());
    }
    has_leftover_ = false;
}

void StagingDirectory::publish() {
    if (::unlinkat(directory_.get(), kIncompleteMarker, 0) != 0)
        throw system_error(errno, "cannot unmark", staging_path_);
    put_in_place();
    published_ = true;
    if (::fsync(parent_.get()) != 0) throw system_error(errno, "cannot flush the directory of", destination_);
    if (!options_.replace) return;
    // What was replaced lies where the new one was.
    std::error_code failure;
    fs::remove_all(staging_path_, failure);
    if (failure) throw system_error(failure.value(), "cannot remove what was replaced", staging_path_);
}

void StagingDirectory::put_in_place() {
    if (std::rename(staging_path_.c_str(), destination_.c_str()) == 0) return;
    const bool occupied = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
    if (occupied && options_.replace) {
        if (::renameat2(AT_FDCWD, staging_path_.c_str(), AT_FDCWD, destination_.c_str(), RENAME_EXCHANGE) == 0) return;
    } else if (occupied) {
        throw Error(ErrorKind::changed, "something else appeared at the destination while the dataset was written")
            .at(destination_)
            .advise("What was written is discarded; give another name");
    }
    throw system_error(errno, "cannot rename the finished dataset to", destination_);
}

StagingDirectory::~StagingDirectory() {
    if (published_ || !directory_ || keep_) return;
    std::error_code ignored;
    fs::remove_all(staging_path_, ignored);
}

}  // namespace feedline
