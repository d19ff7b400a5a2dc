// One request between its first read and its last: what to ask the system for next, and what an answer means.
// Pure arithmetic, shared by the engines that read; not thread-safe.
//
//   start                    payload                      need        want
//     |------- padding ---------|====== length_bytes ======|(+1)| ... ---|
//     |<-- payload_offset_ ---->|
//
// Everything is counted from `start`, the extent's offset rounded down to the alignment (itself, for buffered reads).
// `need` is one byte more than the extent for a whole file: that the byte is missing proves the end of the file
// without another call, that it is there proves growth.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "loaders/engine/engine.h"

namespace feedline {

class Transfer {
public:
    // Linux transfers at most this much a call (read(2), NOTES).
    static constexpr std::uint64_t kMaxReadBytes = 0x7ffff000;
    // Fruitless answers (EINTR, EAGAIN) in a row before the request is given up, so that nothing loops for ever.
    static constexpr unsigned kMaxRetries = 1000;

    enum class Next { read, retry, done };

    Transfer() = default;
    Transfer(const ReadRequest& request, const Alignment& alignment)
        : destination_(request.destination),
          length_bytes_(request.length_bytes),
          block_bytes_(alignment.offset_bytes),
          whole_file_(request.source.whole_file && request.source.fd < 0) {
        start_bytes_ = request.offset_bytes;
        if (block_bytes_ > 1) start_bytes_ -= start_bytes_ % block_bytes_;
        payload_offset_bytes_ = static_cast<std::uint32_t>(request.offset_bytes - start_bytes_);
        need_bytes_ = payload_offset_bytes_ + length_bytes_ + (whole_file_ ? 1U : 0U);
        want_bytes_ = need_bytes_;
        if (block_bytes_ > 1) want_bytes_ = (want_bytes_ + block_bytes_ - 1) / block_bytes_ * block_bytes_;
    }

    // Nothing to ask for: an empty extent of a shard.
    bool empty() const { return length_bytes_ == 0 && !whole_file_; }

    // The next read.
    std::uint64_t offset_bytes() const { return start_bytes_ + position_bytes_; }
    bool at_start() const { return position_bytes_ == 0; }
    std::byte* destination() const { return destination_ + position_bytes_; }
    std::uint64_t length_bytes() const {
        const std::uint64_t most = block_bytes_ > 1 ? kMaxReadBytes / block_bytes_ * block_bytes_ : kMaxReadBytes;
        return std::min(want_bytes_ - position_bytes_, most);
    }
    // A length that a fault hook chose, as this transfer may ask for it.
    std::uint64_t severed(std::uint64_t length) const {
        length = std::clamp<std::uint64_t>(length, 1, length_bytes());
        return block_bytes_ > 1 ? (length + block_bytes_ - 1) / block_bytes_ * block_bytes_ : length;
    }

    // `result` answers the next read, for which `asked` bytes were asked: bytes or -errno.
    Next account(std::int64_t result, std::uint64_t asked) {
        if (result < 0) return account_error(result);
        retries_ = 0;
        const std::uint64_t have = position_bytes_ + static_cast<std::uint64_t>(result);
        const bool end_of_file = have <= have_bytes_;  // asked again and nothing came
        const bool proven = whole_file_ && have + 1 == need_bytes_ && position_bytes_ + asked >= need_bytes_;
        have_bytes_ = std::max(have_bytes_, have);
        if (end_of_file || proven || have_bytes_ >= need_bytes_) return Next::done;
        position_bytes_ = block_bytes_ > 1 ? have_bytes_ / block_bytes_ * block_bytes_ : have_bytes_;
        return Next::read;
    }

    // Once done.
    std::int64_t result() const {
        if (error_ < 0) return error_;
        if (have_bytes_ <= payload_offset_bytes_) return 0;
        return static_cast<std::int64_t>(std::min(have_bytes_ - payload_offset_bytes_, length_bytes_));
    }
    // Fewer bytes than the extent, and no error.
    bool ended_early() const { return error_ == 0 && have_bytes_ < payload_offset_bytes_ + length_bytes_; }
    bool grew() const { return error_ == 0 && whole_file_ && have_bytes_ >= need_bytes_; }

private:
    Next account_error(std::int64_t error) {
        if ((error == -EINTR || error == -EAGAIN) && ++retries_ <= kMaxRetries) return Next::retry;
        error_ = error;
        return Next::done;
    }

    std::byte* destination_ = nullptr;
    std::uint64_t start_bytes_ = 0;
    std::uint64_t length_bytes_ = 0;
    std::uint64_t need_bytes_ = 0;
    std::uint64_t want_bytes_ = 0;
    std::uint64_t have_bytes_ = 0;      // valid, without a gap
    std::uint64_t position_bytes_ = 0;  // of the next read: have_bytes_ rounded down to the alignment
    std::uint32_t payload_offset_bytes_ = 0;
    std::uint32_t block_bytes_ = 1;
    std::int64_t error_ = 0;
    unsigned retries_ = 0;
    bool whole_file_ = false;
};

}  // namespace feedline
