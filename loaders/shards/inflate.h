// Compressed shards (gzip of one or many members, RFC 1952; zlib, RFC 1950) as what they inflate to, from the start or
// from places in the middle that an earlier pass has remembered. In builds without zlib nothing is compressed that
// could be read: looks_compressed() still tells, can_inflate() is false, and the rest throws Error{unsupported}.
//
// To begin in the middle takes where in the file a deflate block begins, to the bit, and the 32 KiB that inflated
// before it, to which its data refer back (RFC 1951). Such places are kept at distances that grow with the stream, so
// that they never take more memory than they are allowed.
//
// Not thread-safe, except that AccessPoints may be read by any number of threads once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"

struct z_stream_s;

namespace feedline {

bool can_inflate();
// By the first bytes of a file. What begins so may be something else all the same.
bool looks_compressed(std::span<const std::byte> start);
// The first `bytes` that a compressed file inflates to, or fewer; none where it cannot be read or inflated.
std::vector<std::byte> inflated_beginning(const std::string& path, std::size_t bytes);
// Of `path`, which cannot be read as this build has no zlib.
Error no_zlib(const std::string& path);

struct AccessPoint {
    std::uint64_t inflated_bytes = 0;    // where in the inflated stream it is
    std::uint64_t file_bytes = 0;        // the block's first whole byte,
    unsigned bits = 0;                   // and how many bits of the byte before belong to it
    bool in_gzip = true;                 // else in a zlib stream
    std::vector<std::byte> window = {};  // what inflated before it, at most 32 KiB
};

class AccessPoints {
public:
    // Their windows take at most about `budget_bytes`.
    explicit AccessPoints(std::uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}

    // From now on as if it had been made so.
    void limit(std::uint64_t budget_bytes);
    // Whether a point at `inflated_bytes`, which is behind all others, is wanted.
    bool wants(std::uint64_t inflated_bytes) const;
    void add(AccessPoint point);

    // The last at or before `inflated_bytes`; null: only the file's start is.
    const AccessPoint* before(std::uint64_t inflated_bytes) const;
    std::size_t size() const { return points_.size(); }
    const std::vector<AccessPoint>& points() const { return points_; }
    std::uint64_t window_bytes() const { return window_bytes_; }

private:
    void thin_out();

    std::uint64_t budget_bytes_;
    std::uint64_t spacing_bytes_ = std::uint64_t{256} << 10U;
    std::uint64_t window_bytes_ = 0;
    std::vector<AccessPoint> points_;  // ascending
};

class Inflater {
public:
    enum class State { going, ended, truncated, corrupt, failed };

    // At the start of the file that `fd` has open. Throws Error{io} without memory.
    explicit Inflater(Fd fd);
    ~Inflater();
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    // Goes on there. False where that cannot be (state() says why).
    bool start_at(const AccessPoint* point);

    // The next bytes of the inflated stream; fewer than asked for when state() has become another than going.
    // `points` are added to where there are blocks to begin at; null: none are wanted.
    std::size_t next(std::span<std::byte> out, AccessPoints* points = nullptr);

    State state() const { return state_; }
    std::uint64_t position_bytes() const { return position_bytes_; }  // in the inflated stream
    std::uint64_t file_position_bytes() const;                        // of the next byte that is not used yet
    int error_number() const { return error_number_; }                // of state failed
    // What is wrong, where state() is truncated or corrupt: at file_position_bytes() or before.
    std::string fault() const;

private:
    bool refill();
    void between_members();
    void note_point(AccessPoints& points);

    struct End {
        void operator()(z_stream_s* stream) const;
    };

    Fd fd_;
    std::unique_ptr<z_stream_s, End> zlib_;
    std::vector<std::byte> in_;
    std::uint64_t read_to_bytes_ = 0;  // in the file
    std::uint64_t position_bytes_ = 0;
    bool raw_ = false;           // begun in the middle: zlib sees neither header nor trailer
    bool gzip_ = true;           // the member under way; else a zlib stream
    bool between_ = true;        // no member is under way
    bool any_member_ = false;    // one is over
    std::uint64_t to_skip_ = 0;  // of a trailer
    State state_ = State::going;
    int error_number_ = 0;
    std::string detail_;
};

}  // namespace feedline
