#include "packers/generate/content.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "packers/generate/jpeg_content.h"
#include "packers/generate/random_stream.h"

namespace feedline {
namespace {

// Large enough that a system call costs nothing beside it, small enough to stay in the second-level cache between being
// generated and being copied by write().
constexpr std::size_t kPieceBytes = std::size_t{512} * 1024;
static_assert(kPieceBytes % RandomStream::kBlockBytes == 0);

class RandomContent final : public ContentSource {
public:
    explicit RandomContent(std::uint64_t seed) : seed_(seed), stream_(seed, 0, Purpose::content), piece_(kPieceBytes) {}

    void start(std::uint64_t sample, std::uint64_t size_bytes) override {
        stream_ = RandomStream(seed_, sample, Purpose::content);
        left_bytes_ = size_bytes;
    }

    std::span<const std::byte> next_piece() override {
        const std::span<std::byte> piece(piece_.data(), std::min<std::uint64_t>(left_bytes_, kPieceBytes));
        stream_.fill(piece);
        left_bytes_ -= piece.size();
        return piece;
    }

private:
    std::uint64_t seed_;
    RandomStream stream_;
    std::uint64_t left_bytes_ = 0;
    std::vector<std::byte> piece_;
};

}  // namespace

std::unique_ptr<ContentSource> make_content(Content content, std::uint64_t seed) {
    if (content == Content::random) return std::make_unique<RandomContent>(seed);
#ifdef FEEDLINE_HAVE_JPEG
    return std::make_unique<JpegContent>(seed);
#else
    throw Error(ErrorKind::unsupported, "this build has no libjpeg-turbo, so it cannot write JPEG content")
        .advise("Install libturbojpeg0-dev and build again, or use --content random");
#endif
}

std::string_view file_suffix(Content content) {
    return content == Content::random ? ".bin" : ".JPEG";
}

SizeRange size_range(Content content) {
    return content == Content::random ? SizeRange{} : SizeRange{kSmallestJpegBytes, kLargestJpegBytes};
}

}  // namespace feedline
