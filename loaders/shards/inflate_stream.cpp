#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "loaders/shards/byte_stream.h"

namespace feedline {
namespace {

constexpr std::size_t kSkipBytes = std::size_t{64} << 10U;

class InflateStream final : public ByteStream {
public:
    InflateStream(Fd fd, std::shared_ptr<const AccessPoints> access)
        : inflater_(std::move(fd)), access_(std::move(access)), skipped_(kSkipBytes) {}

    std::int64_t read(std::uint64_t offset, std::span<std::byte> destination) override {
        const AccessPoint* point = access_ == nullptr ? nullptr : access_->before(offset);
        const std::uint64_t here = inflater_.position_bytes();
        const bool nearer = point != nullptr && point->inflated_bytes > here;
        if (inflater_.state() != Inflater::State::going || offset < here || nearer) {
            if (!inflater_.start_at(point)) return result(0);
        }
        while (inflater_.position_bytes() < offset) {
            const std::uint64_t left = offset - inflater_.position_bytes();
            inflater_.next(std::span(skipped_).first(std::min<std::uint64_t>(left, skipped_.size())));
            if (inflater_.state() != Inflater::State::going) return result(0);
        }
        const std::size_t made = inflater_.next(destination);
        return made == destination.size() ? static_cast<std::int64_t>(made) : result(made);
    }

    std::string problem() const override {
        if (inflater_.state() != Inflater::State::corrupt) return {};
        return fmt::format("{}, at byte {} of the file or before", inflater_.fault(), inflater_.file_position_bytes());
    }

private:
    // Of a read that ended early. A file that is shorter than it was is no damage of its own.
    std::int64_t result(std::size_t made) const {
        switch (inflater_.state()) {
            case Inflater::State::corrupt: return -EBADMSG;
            case Inflater::State::failed: return -inflater_.error_number();
            default: return static_cast<std::int64_t>(made);
        }
    }

    Inflater inflater_;
    std::shared_ptr<const AccessPoints> access_;
    std::vector<std::byte> skipped_;
};

}  // namespace

std::unique_ptr<ByteStream> make_inflate_stream(Fd fd, std::shared_ptr<const AccessPoints> access) {
    return std::make_unique<InflateStream>(std::move(fd), std::move(access));
}

}  // namespace feedline
