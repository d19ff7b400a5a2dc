#include "loaders/decode/decoder.h"

#if FEEDLINE_HAVE_JPEG
#include <turbojpeg.h>
#endif

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace feedline {

#if FEEDLINE_HAVE_JPEG

namespace {

// A header may claim 65,535 x 65,535 pixels in a hundred bytes. Training images are below this by far.
constexpr std::uint64_t kMaxPixels = 256'000'000;
constexpr std::uint64_t kBytesPerPixel = 3;

// A libjpeg-turbo handle and its output serve one thread at a time.
struct Workplace {
    std::unique_ptr<void, int (*)(tjhandle)> handle{tjInitDecompress(), &tjDestroy};
    std::vector<unsigned char> pixels;
};

class JpegDecoder final : public Decoder {
public:
    std::string decode(SampleId /*id*/, std::span<const std::byte> payload) override {
        thread_local Workplace place;
        if (!place.handle) return "no JPEG decoder could be set up";
        tjhandle handle = place.handle.get();
        const auto* data = reinterpret_cast<const unsigned char*>(payload.data());
        int width = 0;
        int height = 0;
        int subsampling = 0;
        int colorspace = 0;
        if (tjDecompressHeader3(handle, data, payload.size(), &width, &height, &subsampling, &colorspace) != 0) {
            return fmt::format("is no JPEG: {}", tjGetErrorStr2(handle));
        }
        // A stream of tables alone passes as a header without an image.
        if (width <= 0 || height <= 0) return "is no JPEG: it holds no image";
        const auto pixels = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
        if (pixels > kMaxPixels) return fmt::format("claims {} x {} pixels", width, height);
        place.pixels.resize(pixels * kBytesPerPixel);
        if (tjDecompress2(handle, data, payload.size(), place.pixels.data(), width, 0, height, TJPF_RGB, 0) != 0) {
            // Most warnings are about harmless extra bytes; the one that means missing data is told by its text alone.
            const std::string_view message = tjGetErrorStr2(handle);
            const bool harmless =
                tjGetErrorCode(handle) == TJERR_WARNING && message.find("remature end") == std::string_view::npos;
            if (!harmless) return fmt::format("cannot be decoded: {}", message);
        }
        return {};
    }
};

}  // namespace

std::shared_ptr<Decoder> make_jpeg_decoder() {
    return std::make_shared<JpegDecoder>();
}

#else

std::shared_ptr<Decoder> make_jpeg_decoder() {
    throw Error(ErrorKind::unsupported, "this build decodes no JPEG: it was built without libjpeg-turbo");
}

#endif

}  // namespace feedline
