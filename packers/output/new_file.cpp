#include "packers/output/new_file.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "packers/output/free_space.h"
#include "packers/output/paths.h"

namespace feedline {
namespace {

// A copy of less than this costs less than a system call's share of a vector of pieces.
constexpr std::size_t kDirectBytes = 32U << 10U;
constexpr std::size_t kGatherBytes = 256U << 10U;
// What a disk gets at once: enough for long writes, little enough that the last one does not take long.
constexpr std::uint64_t kFlushBytes = 16U << 20U;

}  // namespace

void sync_directory_of(const std::string& path) {
    const std::string directory = parent_directory(path);
    const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) throw system_error(errno, "cannot open directory", directory);
    // Some network filesystems have nothing to flush for a directory and say EINVAL.
    if (::fsync(fd.get()) != 0 && errno != EINVAL) throw system_error(errno, "cannot flush directory", directory);
}

NewFile::NewFile(std::string path, RateLimit* rate)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)), rate_(rate) {
    if (!fd_) throw system_error(errno, "cannot make file", path_);
    gathered_.reserve(kGatherBytes);
}

void NewFile::append(std::span<const std::byte> bytes) {
    if (rate_ != nullptr) rate_->take(bytes.size());
    crc32c_ = feedline::crc32c(bytes, crc32c_);
    if (bytes.size() >= kDirectBytes) {
        write_out(bytes);
    } else {
        gather(bytes);
    }
}

void NewFile::append_zeros(std::uint64_t count) {
    static constexpr std::array<std::byte, 4096> kZeros{};
    for (; count > 0; count -= std::min<std::uint64_t>(count, kZeros.size())) {
        append(std::span(kZeros).first(std::min<std::uint64_t>(count, kZeros.size())));
    }
}

void NewFile::gather(std::span<const std::byte> bytes) {
    if (gathered_.size() + bytes.size() > kGatherBytes) write_out({});
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
}

// Writes what was gathered, and `more` behind it.
void NewFile::write_out(std::span<const std::byte> more) {
    std::span<const std::byte> first = gathered_;
    while (!first.empty() || !more.empty()) {
        // The kernel does not write through an iovec, it only has no const one.
        const std::array<iovec, 2> pieces{
            {{const_cast<std::byte*>(first.data()), first.size()}, {const_cast<std::byte*>(more.data()), more.size()}}};
        const ssize_t n = ::writev(fd_.get(), pieces.data(), static_cast<int>(pieces.size()));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw cannot_write(errno, path_, written_bytes_);
        const auto written = static_cast<std::size_t>(n);
        const std::size_t of_first = std::min(written, first.size());
        first = first.subspan(of_first);
        more = more.subspan(written - of_first);
        written_bytes_ += written;
    }
    gathered_.clear();
    set_disk_to_work(false);
}

void NewFile::set_disk_to_work(bool all) {
    const std::uint64_t due = written_bytes_ - flushing_bytes_;
    if (!all && due < kFlushBytes) return;
    // Only a beginning: filesystems that know no such thing refuse, and finish() does the whole.
    (void)::sync_file_range(fd_.get(), static_cast<off_t>(flushing_bytes_), static_cast<off_t>(due),
                            SYNC_FILE_RANGE_WRITE);
    flushing_bytes_ = written_bytes_;
}

void NewFile::finish() {
    write_out({});
    if (::fsync(fd_.get()) != 0) throw cannot_write(errno, path_, written_bytes_);
    const int fd = fd_.release();
    if (::close(fd) != 0 && errno != EINTR) throw cannot_write(errno, path_, written_bytes_);
}

}  // namespace feedline
