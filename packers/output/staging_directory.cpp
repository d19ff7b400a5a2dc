#include "packers/output/staging_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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

// Removes what is in a directory but the marker. What makes it look finished goes first: a kill in between leaves
// nothing that does.
void empty_out(int directory_fd, const std::string& path, const std::string& last_file) {
    if (!last_file.empty() && ::unlinkat(directory_fd, last_file.c_str(), 0) == 0) (void)::fsync(directory_fd);
    std::error_code failure;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, failure)) {
        if (entry.path().filename() == kIncompleteMarker) continue;
        fs::remove_all(entry.path(), failure);
        if (failure) throw system_error(failure.value(), "cannot clear", entry.path().native());
    }
    if (failure) throw system_error(failure.value(), "cannot clear", path);
}

Fd open_marker(int directory_fd, int create) {
    return Fd(::openat(directory_fd, kIncompleteMarker, O_RDWR | O_NOFOLLOW | O_CLOEXEC | create, 0666));
}

Fd open_parent(const std::string& destination) {
    const std::string parent = parent_directory(destination);
    Fd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd) return fd;
    if (errno == ENOENT) throw usage("the parent directory is missing", parent, "Make it first with mkdir -p");
    if (errno == ENOTDIR) throw usage("the parent is not a directory", parent, "Give another destination");
    throw system_error(errno, "cannot open the parent directory", parent);
}

Fd open_staging(const std::string& path) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd && (errno == ENOTDIR || errno == ELOOP)) {
        throw usage("something is in the way that was not left by an unfinished run", path,
                    "Look at it, then remove it or give another destination");
    }
    return fd;
}

// Of the directory that is open: its marker, locked. What is empty, or as good as finished, may lack one, which is made
// if `create` says so.
Fd lock_marker(int directory_fd, const std::string& path, bool may_lack, int create) {
    Fd marker = open_marker(directory_fd, may_lack ? create : 0);
    if (!marker && errno == ENOENT) {
        if (may_lack && create == 0) return marker;
        throw usage("there is a directory in the way that was not left by an unfinished run", path,
                    "Look at it, then remove it or give another destination");
    }
    if (!marker) throw system_error(errno, "cannot mark directory", path + "/" + kIncompleteMarker);
    if (::flock(marker.get(), LOCK_EX | LOCK_NB) == 0) return marker;
    if (errno != EWOULDBLOCK) throw system_error(errno, "cannot lock", path + "/" + kIncompleteMarker);
    throw usage("another run is writing this dataset", path, "Wait for it or give another destination");
}

// Some network filesystems know no exchange, and hours later would be late to say so. Tried on two files of its own.
// 0, or why not.
int try_exchange(int directory_fd) {
    constexpr std::array<const char*, 2> kNames = {".feedline-one", ".feedline-other"};
    bool made = true;
    for (const char* name : kNames) {
        made = made && Fd(::openat(directory_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    }
    const bool refused = made && ::renameat2(directory_fd, kNames[0], directory_fd, kNames[1], RENAME_EXCHANGE) != 0;
    const int error = errno;
    for (const char* name : kNames) (void)::unlinkat(directory_fd, name, 0);
    return refused ? error : 0;
}

bool may_lack_marker(int directory_fd, bool empty, const std::string& last_file) {
    struct stat last {};
    return empty || (!last_file.empty() && ::fstatat(directory_fd, last_file.c_str(), &last, AT_SYMLINK_NOFOLLOW) == 0);
}

Error left_over(const std::string& path) {
    return usage("an unfinished run has left its work here", path,
                 "Go on with it (--resume), or begin anew (--overwrite)");
}

}  // namespace

void StagingDirectory::require_free(const std::string& destination, const StagingOptions& options) {
    const std::string name = without_trailing_slashes(destination);
    require_usable(name, options.replace);
    (void)open_parent(name);
    const std::string path = name + ".incomplete";
    const Fd directory = open_staging(path);
    if (!directory) return;
    std::error_code failure;
    const bool empty = fs::is_empty(path, failure);
    (void)lock_marker(directory.get(), path, may_lack_marker(directory.get(), empty, options.last_file), 0);
    if (!empty && options.leftover == StagingOptions::Leftover::refuse) throw left_over(path);
}

StagingDirectory::StagingDirectory(const std::string& destination, const StagingOptions& options)
    : options_(options),
      destination_(without_trailing_slashes(destination)),
      staging_path_(destination_ + ".incomplete") {
    require_usable(destination_, options.replace);
    parent_ = open_parent(destination_);
    acquire();
}

// Makes DST.incomplete and locks its marker, or takes over a leftover. The lock is held before anything is deleted, and
// the marker itself is never deleted before publish(), so two runs cannot both believe that they own the directory.
void StagingDirectory::acquire() {
    const bool made = ::mkdir(staging_path_.c_str(), 0777) == 0;
    if (!made && errno != EEXIST) throw system_error(errno, "cannot make directory", staging_path_);
    directory_ = open_staging(staging_path_);
    if (!directory_) throw system_error(errno, "cannot open directory", staging_path_);
    std::error_code failure;
    const bool empty = fs::is_empty(staging_path_, failure);
    marker_ = lock_marker(directory_.get(), staging_path_, may_lack_marker(directory_.get(), empty, options_.last_file),
                          O_CREAT);
    has_leftover_ = !empty;
    const int refused = options_.replace && fs::exists(destination_, failure) ? try_exchange(directory_.get()) : 0;
    if (refused != 0) {
        if (empty) remove_all();
        throw Error(ErrorKind::usage, "this filesystem cannot put a new dataset in an old one's place")
            .at(destination_)
            .because(refused)
            .advise("Remove the old one first, or give another name");
    }
    if (!has_leftover_ || options_.leftover == StagingOptions::Leftover::keep) return;
    if (options_.leftover == StagingOptions::Leftover::refuse) {
        directory_.reset();  // it is not ours to remove
        throw left_over(staging_path_);
    }
    clear();
}

void StagingDirectory::clear() {
    empty_out(directory_.get(), staging_path_, options_.last_file);
    has_leftover_ = false;
}

void StagingDirectory::publish() {
    if (::unlinkat(directory_.get(), kIncompleteMarker, 0) != 0)
        throw system_error(errno, "cannot unmark", staging_path_);
    const bool exchanged = put_in_place();
    published_ = true;
    if (::fsync(parent_.get()) != 0) throw system_error(errno, "cannot flush the directory of", destination_);
    if (exchanged) remove_replaced();
}

// What was replaced lies where the new one was. From here on it is a leftover of ours, to be told by the marker also
// when it is removed in part.
void StagingDirectory::remove_replaced() {
    directory_ = Fd(::open(staging_path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (directory_) marker_ = open_marker(directory_.get(), O_CREAT);
    if (!directory_ || !marker_) throw system_error(errno, "cannot remove what was replaced", staging_path_);
    if (::flock(marker_.get(), LOCK_EX | LOCK_NB) != 0) return;  // somebody else clears it already
    remove_all();
}

void StagingDirectory::remove_all() {
    empty_out(directory_.get(), staging_path_, options_.last_file);
    const bool removed = ::unlinkat(directory_.get(), kIncompleteMarker, 0) == 0 && ::rmdir(staging_path_.c_str()) == 0;
    if (!removed) throw system_error(errno, "cannot remove", staging_path_);
}

// Whether what was there is now where the new one was.
bool StagingDirectory::put_in_place() {
    if (std::rename(staging_path_.c_str(), destination_.c_str()) == 0) return false;
    const bool occupied = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
    if (occupied && options_.replace) {
        if (::renameat2(AT_FDCWD, staging_path_.c_str(), AT_FDCWD, destination_.c_str(), RENAME_EXCHANGE) == 0)
            return true;
    } else if (occupied) {
        throw Error(ErrorKind::changed, "something else appeared at the destination while the dataset was written")
            .at(destination_)
            .advise("What was written is discarded; give another name");
    }
    throw system_error(errno, "cannot rename the finished dataset to", destination_);
}

StagingDirectory::~StagingDirectory() {
    if (published_ || !directory_ || keep_) return;
    try {
        remove_all();
    } catch (const Error&) {  // it stays a leftover
    }
}

}  // namespace feedline
