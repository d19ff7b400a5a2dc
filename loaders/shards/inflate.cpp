#include "loaders/shards/inflate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#if FEEDLINE_HAVE_ZLIB
#include <zlib.h>
#endif

namespace feedline {
namespace {

constexpr auto kGzip = std::array{std::byte{0x1f}, std::byte{0x8b}};

bool begins_gzip(std::span<const std::byte> start) {
    return start.size() >= kGzip.size() && std::equal(kGzip.begin(), kGzip.end(), start.begin());
}

// RFC 1950: method 8, a window of at most 32 KiB, a multiple of 31, no dictionary of its own.
bool begins_zlib(std::span<const std::byte> start) {
    if (start.size() < 2) return false;
    const auto method = std::to_integer<unsigned>(start[0]);
    const auto flags = std::to_integer<unsigned>(start[1]);
    return (method & 0x0fU) == 8 && method >> 4U <= 7 && (flags & 0x20U) == 0 && (method << 8U | flags) % 31 == 0;
}

}  // namespace

bool looks_compressed(std::span<const std::byte> start) {
    return begins_gzip(start) || begins_zlib(start);
}

Error no_zlib(const std::string& path) {
    return Error(ErrorKind::unsupported, "the shard is compressed, and this build has no zlib to read it with")
        .at(path)
        .advise("Install zlib (Debian: zlib1g-dev) and build again, or store it uncompressed");
}

bool AccessPoints::wants(std::uint64_t inflated_bytes) const {
    const std::uint64_t last = points_.empty() ? 0 : points_.back().inflated_bytes;
    return inflated_bytes >= last + spacing_bytes_;
}

void AccessPoints::add(AccessPoint point) {
    if (point.window.size() > budget_bytes_) return;
    window_bytes_ += point.window.size();
    points_.push_back(std::move(point));
    while (window_bytes_ > budget_bytes_) thin_out();
}

void AccessPoints::limit(std::uint64_t budget_bytes) {
    budget_bytes_ = budget_bytes;
    while (window_bytes_ > budget_bytes_) thin_out();
}

// Every other one goes, and from now on they are twice as far apart.
void AccessPoints::thin_out() {
    spacing_bytes_ *= 2;
    std::vector<AccessPoint> kept;
    window_bytes_ = 0;
    for (std::size_t i = 1; i < points_.size(); i += 2) {
        window_bytes_ += points_[i].window.size();
        kept.push_back(std::move(points_[i]));
    }
    points_ = std::move(kept);
}

const AccessPoint* AccessPoints::before(std::uint64_t inflated_bytes) const {
    const auto after =
        std::upper_bound(points_.begin(), points_.end(), inflated_bytes,
                         [](std::uint64_t at, const AccessPoint& point) { return at < point.inflated_bytes; });
    return after == points_.begin() ? nullptr : &*std::prev(after);
}

#if FEEDLINE_HAVE_ZLIB

namespace {

constexpr std::size_t kInBytes = std::size_t{64} << 10U;
constexpr std::size_t kWindowBytes = std::size_t{32} << 10U;
constexpr int kRaw = -15;        // inflateInit2: no header, no trailer
constexpr int kAnyHeader = 47;   // gzip or zlib
constexpr int kGzipHeader = 31;  // gzip alone
constexpr std::uint64_t kGzipTrailerBytes = 8;
constexpr std::uint64_t kZlibTrailerBytes = 4;

}  // namespace

bool can_inflate() {
    return true;
}

std::vector<std::byte> inflated_beginning(const std::string& path, std::size_t bytes) {
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) return {};
    Inflater inflater(std::move(fd));
    std::vector<std::byte> start(bytes);
    start.resize(inflater.next(start));
    return start;
}

void Inflater::End::operator()(z_stream_s* stream) const {
    inflateEnd(stream);
    delete stream;
}

Inflater::Inflater(Fd fd) : fd_(std::move(fd)), zlib_(new z_stream{}), in_(kInBytes) {
    if (inflateInit2(zlib_.get(), kAnyHeader) != Z_OK) {
        throw Error(ErrorKind::io, "zlib cannot begin").because(ENOMEM);
    }
}

Inflater::~Inflater() = default;

std::uint64_t Inflater::file_position_bytes() const {
    return read_to_bytes_ - zlib_->avail_in;
}

bool Inflater::start_at(const AccessPoint* point) {
    state_ = State::going;
    detail_.clear();
    zlib_->avail_in = 0;
    raw_ = point != nullptr;
    between_ = !raw_;
    any_member_ = false;
    to_skip_ = 0;
    read_to_bytes_ = raw_ ? point->file_bytes - (point->bits > 0 ? 1 : 0) : 0;
    position_bytes_ = raw_ ? point->inflated_bytes : 0;
    if (inflateReset2(zlib_.get(), raw_ ? kRaw : kAnyHeader) != Z_OK) {
        state_ = State::failed;
        error_number_ = ENOMEM;
        return false;
    }
    if (!raw_) return true;
    gzip_ = point->in_gzip;
    if (point->bits > 0) {
        if (!refill()) return false;
        const auto byte = static_cast<unsigned>(*zlib_->next_in);
        ++zlib_->next_in;
        --zlib_->avail_in;
        inflatePrime(zlib_.get(), static_cast<int>(point->bits), static_cast<int>(byte >> (8U - point->bits)));
    }
    if (!point->window.empty()) {
        inflateSetDictionary(zlib_.get(), reinterpret_cast<const Bytef*>(point->window.data()),
                             static_cast<uInt>(point->window.size()));
    }
    return true;
}

// Brings more of the file. False at its end, or when it cannot be read.
bool Inflater::refill() {
    ssize_t got = -1;
    do {
        got = pread(fd_.get(), in_.data(), in_.size(), static_cast<off_t>(read_to_bytes_));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        state_ = State::failed;
        error_number_ = errno;
        return false;
    }
    if (got == 0) {
        // A file ends well behind a member.
        state_ = between_ && any_member_ && to_skip_ == 0 ? State::ended : State::truncated;
        return false;
    }
    read_to_bytes_ += static_cast<std::uint64_t>(got);
    zlib_->next_in = reinterpret_cast<Bytef*>(in_.data());
    zlib_->avail_in = static_cast<uInt>(got);
    return true;
}

// Where no member is under way: behind the trailer of one, where another may begin, or zeros up to the end (of tapes,
// and of those who write whole blocks).
void Inflater::between_members() {
    if (to_skip_ > 0) {
        const auto here = static_cast<uInt>(std::min<std::uint64_t>(to_skip_, zlib_->avail_in));
        zlib_->next_in += here;
        zlib_->avail_in -= here;
        to_skip_ -= here;
        return;
    }
    if (any_member_ && *zlib_->next_in == 0) {
        ++zlib_->next_in;
        --zlib_->avail_in;
        return;
    }
    gzip_ = *zlib_->next_in == std::to_integer<unsigned char>(kGzip[0]);
    if (any_member_) {
        if (!gzip_) {
            state_ = State::corrupt;
            detail_ = "what follows a compressed stream is no other one";
            return;
        }
        raw_ = false;
        inflateReset2(zlib_.get(), kGzipHeader);
    }
    between_ = false;
}

void Inflater::note_point(AccessPoints& points) {
    AccessPoint point;
    point.inflated_bytes = position_bytes_;
    point.file_bytes = file_position_bytes();
    point.bits = static_cast<unsigned>(zlib_->data_type) & 7U;
    point.in_gzip = gzip_;
    point.window.resize(kWindowBytes);
    uInt length = kWindowBytes;
    if (inflateGetDictionary(zlib_.get(), reinterpret_cast<Bytef*>(point.window.data()), &length) != Z_OK) return;
    point.window.resize(length);
    point.window.shrink_to_fit();
    points.add(std::move(point));
}

std::size_t Inflater::next(std::span<std::byte> out, AccessPoints* points) {
    std::size_t done = 0;
    while (done < out.size() && state_ == State::going) {
        if (zlib_->avail_in == 0 && !refill()) break;
        if (between_) {
            between_members();
            continue;
        }
        constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;  // zlib counts in 32 bits
        const std::size_t room = std::min(out.size() - done, kMostAtOnce);
        zlib_->next_out = reinterpret_cast<Bytef*>(out.data() + done);
        zlib_->avail_out = static_cast<uInt>(room);
        const int result = inflate(zlib_.get(), points == nullptr ? Z_NO_FLUSH : Z_BLOCK);
        const std::size_t made = room - zlib_->avail_out;
        done += made;
        position_bytes_ += made;
        if (result == Z_STREAM_END) {
            between_ = true;
            any_member_ = true;
            if (raw_) to_skip_ = gzip_ ? kGzipTrailerBytes : kZlibTrailerBytes;
        } else if (result == Z_OK) {
            constexpr int kAtBlock = 128;
            constexpr int kInLastBlock = 64;
            const bool begins = (zlib_->data_type & kAtBlock) != 0 && (zlib_->data_type & kInLastBlock) == 0;
            if (points != nullptr && begins && points->wants(position_bytes_)) note_point(*points);
        } else if (result == Z_MEM_ERROR) {
            state_ = State::failed;
            error_number_ = ENOMEM;
        } else if (result != Z_BUF_ERROR || (made == 0 && zlib_->avail_in > 0 && zlib_->avail_out > 0)) {
            state_ = State::corrupt;
            detail_ = zlib_->msg != nullptr ? zlib_->msg : "a dictionary that is not there";
        }
    }
    return done;
}

std::string Inflater::fault() const {
    if (state_ == State::truncated) return "the file ends inside of its compressed stream";
    if (state_ == State::corrupt) return fmt::format("the compressed stream is damaged ({})", detail_);
    return {};
}

#else

bool can_inflate() {
    return false;
}

std::vector<std::byte> inflated_beginning(const std::string& /*path*/, std::size_t /*bytes*/) {
    return {};
}

void Inflater::End::operator()(z_stream_s* /*stream*/) const {}

Inflater::Inflater(Fd fd) : fd_(std::move(fd)) {
    throw Error(ErrorKind::unsupported, "this build has no zlib");
}

Inflater::~Inflater() = default;

bool Inflater::start_at(const AccessPoint* /*point*/) {
    return false;
}

std::size_t Inflater::next(std::span<std::byte> /*out*/, AccessPoints* /*points*/) {
    return 0;
}

std::uint64_t Inflater::file_position_bytes() const {
    return 0;
}

std::string Inflater::fault() const {
    return {};
}

#endif

}  // namespace feedline
