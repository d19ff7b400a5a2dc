#include "loaders/decode/decoder.h"

#if FEEDLINE_HAVE_ISAL
#include <isa-l/crc.h>
#endif

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/error.h"

namespace feedline {

#if FEEDLINE_HAVE_ISAL

namespace {

class IsalCrcDecoder final : public CrcDecoder {
public:
    std::string decode(SampleId /*id*/, std::span<const std::byte> payload) override {
        // The library takes an int of bytes and, though it only reads, no const.
        constexpr std::size_t kPiece = std::numeric_limits<int>::max();
        auto* at = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(payload.data()));
        unsigned crc = ~0U;
        for (std::size_t left = payload.size(); left > 0;) {
            const std::size_t piece = std::min(left, kPiece);
            crc = crc32_iscsi(at, static_cast<int>(piece), crc);
            at += piece;
            left -= piece;
        }
        sum_.fetch_add(~crc, std::memory_order_relaxed);
        return {};
    }

    std::uint64_t sum() const override { return sum_.load(std::memory_order_relaxed); }
    std::uint64_t compared() const override { return 0; }

private:
    std::atomic<std::uint64_t> sum_{0};
};

}  // namespace

std::shared_ptr<CrcDecoder> make_crc_decoder() {
    return std::make_shared<IsalCrcDecoder>();
}

#else

std::shared_ptr<CrcDecoder> make_crc_decoder() {
    throw Error(ErrorKind::unsupported, "this build has no CRC32C: it was built without isa-l");
}

#endif

}  // namespace feedline
