#include "bench/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace feedline {
namespace {

// 0, or errno.
int write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

// That a directory takes no new file, or gives none up, says nothing of writing to the file itself.
bool closed_to_us(int error) {
    return error == EACCES || error == EPERM || error == EROFS;
}

Error cannot(const std::string& asked_by, std::string_view what, const std::string& path, int error) {
    return Error(ErrorKind::usage, fmt::format("{}: cannot {}", asked_by, what)).at(path).because(error);
}

}  // namespace

bool is_standard_output(std::string_view path) {
    constexpr std::array<std::string_view, 4> kNames{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    return std::find(kNames.begin(), kNames.end(), path) != kNames.end();
}

std::string written_file(const std::string& path) {
    namespace fs = std::filesystem;
    constexpr int kMostLinks = 40;  // as many as Linux follows
    fs::path at(path);
    for (int followed = 0; followed < kMostLinks; ++followed) {
        std::error_code error;
        const fs::path next = fs::read_symlink(at, error);
        if (error) return at.string();
        at = next.is_absolute() ? next : at.parent_path() / next;
    }
    return path;
}

OutputFile::OutputFile(const std::string& asked_by, std::string path) : path_(std::move(path)) {
    if (is_standard_output(path_)) return;
    struct stat status {};
    const bool exists = ::stat(path_.c_str(), &status) == 0;
    if (exists && !S_ISREG(status.st_mode)) {
        // It cannot be replaced by a rename, and must not be. Without O_NONBLOCK a pipe that nobody reads would be
        // waited for; its writes may wait.
        special_ = Fd(::open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
        if (!special_ && errno == ENXIO && S_ISFIFO(status.st_mode)) {
            throw Error(ErrorKind::usage, asked_by + ": nobody reads this pipe")
                .at(path_)
                .advise("start its reader first");
        }
        if (!special_) throw cannot(asked_by, "write", path_, errno);
        ::fcntl(special_.get(), F_SETFL, O_WRONLY);
        return;
    }
    if (!exists && errno == ELOOP) throw cannot(asked_by, "write", path_, ELOOP);
    target_ = written_file(path_);
    // A rename would replace it all the same; who has protected a file does not want that.
    constexpr mode_t kAnyWrite = S_IWUSR | S_IWGRP | S_IWOTH;
    if (exists && (status.st_mode & kAnyWrite) == 0) throw cannot(asked_by, "write", path_, EACCES);
    if (exists) mode_ = status.st_mode & 07777U;
    const Fd trial(::open(temporary().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!trial) {
        const int error = errno;
        if (exists && closed_to_us(error) && Fd(::open(target_.c_str(), O_WRONLY | O_CLOEXEC))) return;
        throw cannot(asked_by, "create", path_, error);
    }
    ::unlink(temporary().c_str());
}

void OutputFile::write(std::string_view content) {
    if (is_standard_output(path_)) {
        write_standard_output(content);
    } else if (special_) {
        if (const int error = write_all(special_.get(), content)) throw system_error(error, "cannot write", path_);
        special_.reset();
    } else {
        write_atomically(content);
    }
}

void OutputFile::write_standard_output(std::string_view content) {
    const bool written = std::fwrite(content.data(), 1, content.size(), stdout) == content.size();
    if (!written || std::fflush(stdout) != 0) throw system_error(errno, "cannot write", "standard output");
}

void OutputFile::write_atomically(std::string_view content) {
    const std::string beside = temporary();
    const auto fail = [&](std::string_view what, int error) {
        ::unlink(beside.c_str());
        return system_error(error, std::string(what), path_);
    };
    Fd fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!fd && mode_ && closed_to_us(errno)) {
        if (const int error = write_in_place(content)) throw system_error(error, "cannot write", path_);
        return;
    }
    if (!fd) throw fail("cannot create", errno);
    if (const int error = write_all(fd.get(), content)) throw fail("cannot write", error);
    if (mode_) ::fchmod(fd.get(), *mode_);
    if (::fsync(fd.get()) != 0) throw fail("cannot write", errno);
    fd.reset();
    if (::rename(beside.c_str(), target_.c_str()) == 0) return;
    // EBUSY: a file that is mounted there, as into a container.
    const int refusal = errno;
    const int error = mode_ && (refusal == EBUSY || closed_to_us(refusal)) ? write_in_place(content) : refusal;
    if (error != 0) throw system_error(error, "cannot write", path_).advise("What it was to hold is in " + beside);
    ::unlink(beside.c_str());
}

int OutputFile::write_in_place(std::string_view content) const {
    const Fd fd(::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) return errno;
    if (const int error = write_all(fd.get(), content)) return error;
    if (::ftruncate(fd.get(), static_cast<off_t>(content.size())) != 0 || ::fsync(fd.get()) != 0) return errno;
    return 0;
}

std::string OutputFile::temporary() const {
    return target_ + "." + std::to_string(::getpid()) + ".tmp";
}

}  // namespace feedline
