#include "core/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"

namespace feedline {
namespace {

constexpr std::size_t kBufferBytes = 64U << 10U;
constexpr std::size_t kLongestLineBytes = 16U << 20U;

Fd open_regular(const std::string& path) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) throw Error(ErrorKind::io, "cannot open").at(path).because(errno);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) throw Error(ErrorKind::io, "cannot open").at(path).because(errno);
    if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::io, "this is no file, and one was expected").at(path);
    return fd;
}

}  // namespace

LineReader::LineReader(std::string path) : path_(std::move(path)), fd_(open_regular(path_)), buffer_(kBufferBytes) {}

bool LineReader::fill() {
    for (;;) {
        const ssize_t n = ::read(fd_.get(), buffer_.data(), buffer_.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Error(ErrorKind::io, "cannot read").at(path_, read_bytes_).because(errno);
        begin_ = 0;
        end_ = static_cast<std::size_t>(n);
        read_bytes_ += end_;
        crc32c_ = feedline::crc32c(std::as_bytes(std::span(buffer_).first(end_)), crc32c_);
        return n > 0;
    }
}

bool LineReader::next(std::string& line) {
    line.clear();
    offset_bytes_ = next_offset_bytes_;
    cut_ = false;
    for (;;) {
        if (begin_ == end_ && !fill()) {
            cut_ = !line.empty();
            next_offset_bytes_ += line.size();
            return cut_;
        }
        const auto from = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
        const auto to = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
        const auto found = std::find(from, to, '\n');
        line.append(from, found);
        if (line.size() > kLongestLineBytes) {
            throw Error(ErrorKind::corrupt, "a line is longer than 16 MiB").at(path_, offset_bytes_);
        }
        begin_ = static_cast<std::size_t>(found - buffer_.begin());
        if (found == to) continue;
        ++begin_;
        next_offset_bytes_ += line.size() + 1;
        return true;
    }
}

std::string read_text(const std::string& path) {
    const Fd fd = open_regular(path);
    std::string text;
    std::vector<char> buffer(kBufferBytes);
    for (;;) {
        const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Error(ErrorKind::io, "cannot read").at(path, text.size()).because(errno);
        if (n == 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace feedline
