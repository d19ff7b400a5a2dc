#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "loaders/shards/byte_stream.h"

namespace feedline {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;

class FileStream final : public ByteStream {
public:
    explicit FileStream(Fd fd) : fd_(std::move(fd)), buffer_(kBufferBytes) {}

    std::int64_t read(std::uint64_t offset, std::span<std::byte> destination) override {
        const bool goes_on = offset == next_;
        std::size_t done = take_held(offset, destination);
        while (done < destination.size()) {
            const std::span<std::byte> rest = destination.subspan(done);
            const bool buffered = goes_on && rest.size() < buffer_.size();
            const std::int64_t got = fill(offset + done, buffered ? std::span(buffer_) : rest);
            if (got < 0) return got;
            if (got == 0) break;
            if (buffered) {
                begin_ = offset + done;
                held_ = static_cast<std::size_t>(got);
                done += take_held(offset + done, rest);
            } else {
                done += static_cast<std::size_t>(got);
            }
        }
        next_ = offset + done;
        return static_cast<std::int64_t>(done);
    }

private:
    std::size_t take_held(std::uint64_t offset, std::span<std::byte> destination) const {
        if (offset < begin_ || offset >= begin_ + held_) return 0;
        const auto at = static_cast<std::size_t>(offset - begin_);
        const std::size_t bytes = std::min(destination.size(), held_ - at);
        if (bytes > 0) std::memcpy(destination.data(), buffer_.data() + at, bytes);
        return bytes;
    }

    std::int64_t fill(std::uint64_t offset, std::span<std::byte> out) const {
        for (;;) {
            const ssize_t got = pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
            if (got >= 0 || errno != EINTR) return got < 0 ? -errno : got;
        }
    }

    Fd fd_;
    std::vector<std::byte> buffer_;
    std::uint64_t begin_ = 0;  // of what the buffer holds
    std::size_t held_ = 0;
    std::uint64_t next_ = 0;  // where the last read ended
};

}  // namespace

std::unique_ptr<ByteStream> make_file_stream(Fd fd) {
    return std::make_unique<FileStream>(std::move(fd));
}

}  // namespace feedline
