#include "loaders/shards/inflate_window.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace feedline {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;

Fd open_shard(const std::string& path) {
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) throw system_error(errno, "cannot open the shard", path);
    return fd;
}

}  // namespace

InflateWindow::InflateWindow(std::string path, AccessPoints& access)
    : path_(std::move(path)), inflater_(open_shard(path_)), access_(access), buffer_(kBufferBytes) {}

// Fewer than asked for: there are no more. What came before a fault is good.
std::size_t InflateWindow::inflate(std::span<std::byte> out) {
    const std::size_t made = inflater_.next(out, &access_);
    if (inflater_.state() == Inflater::State::ended) size_bytes_ = inflater_.position_bytes();
    return made;
}

void InflateWindow::refuse_what_is_broken() const {
    switch (inflater_.state()) {
        case Inflater::State::going:
        case Inflater::State::ended: break;
        case Inflater::State::truncated:
        case Inflater::State::corrupt:
            throw Error(ErrorKind::corrupt, inflater_.fault()).at(path_, inflater_.file_position_bytes());
        case Inflater::State::failed:
            throw Error(ErrorKind::io, "cannot read")
                .at(path_, inflater_.file_position_bytes())
                .because(inflater_.error_number());
    }
}

void InflateWindow::jump_to(std::uint64_t offset) {
    const std::uint64_t end = begin_bytes_ + held_bytes_;
    if (offset < end) {
        const auto gone = static_cast<std::size_t>(offset - begin_bytes_);
        held_bytes_ -= gone;
        std::memmove(buffer_.data(), buffer_.data() + gone, held_bytes_);
        begin_bytes_ = offset;
        return;
    }
    begin_bytes_ = end;
    held_bytes_ = 0;
    while (begin_bytes_ < offset) {
        const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(offset - begin_bytes_, buffer_.size()));
        const std::size_t made = inflate(std::span(buffer_).first(step));
        begin_bytes_ += made;
        if (made < step) return;
    }
}

std::span<const std::byte> InflateWindow::at(std::uint64_t offset, std::size_t want, std::size_t /*ahead*/) {
    if (offset < begin_bytes_) throw Error(ErrorKind::internal, "a stream was looked into backwards").at(path_);
    if (offset + want > begin_bytes_ + held_bytes_ && inflater_.state() == Inflater::State::going) {
        jump_to(offset);
        if (buffer_.size() < want) buffer_.resize(want);
        // As much as there is room for: a window is moved seldom.
        while (held_bytes_ < want && inflater_.state() == Inflater::State::going) {
            held_bytes_ += inflate(std::span(buffer_).subspan(held_bytes_));
        }
    }
    const std::uint64_t end = begin_bytes_ + held_bytes_;
    if (offset + want > end) refuse_what_is_broken();
    if (offset >= end) return {};
    const std::span<const std::byte> held(buffer_.data(), held_bytes_);
    return held.subspan(static_cast<std::size_t>(offset - begin_bytes_),
                        static_cast<std::size_t>(std::min<std::uint64_t>(want, end - offset)));
}

void InflateWindow::finish() {
    while (inflater_.state() == Inflater::State::going) {
        begin_bytes_ += held_bytes_;
        held_bytes_ = inflate(buffer_);
    }
    refuse_what_is_broken();
}

}  // namespace feedline
