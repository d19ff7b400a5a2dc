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

// A libjpeg-turbo handle and its output serve one thread at a time.
struct Workplace {
    std::unique_ptr<void, int (*)(tjhandle)> handle{tjInitDecompress(), &tjDestroy};
    std::vector<unsigned char> pixels;
};

// What a person would have to look at: libjpeg-turbo goes on after a warning, and all loaders that stand on it take
// what comes out. A picture whose data is not all there is an error all the same, as it is for them. The library tells
// only the first warning, and in words alone, so that the end of the data is looked for as well: within the data of a
// scan, 0xFF is followed by a zero, so the end marker can be nothing else.
bool is_cut_off(std::string_view warning, std::string_view jpeg) {
    if (warning.find("remature end") != std::string_view::npos) return true;
    const std::size_t last_scan = jpeg.rfind("\xFF\xDA");
    return last_scan == std::string_view::npos || jpeg.find("\xFF\xD9", last_scan) == std::string_view::npos;
}

class JpegDecoder final : public Decoder {
public:
    std::string decode(SampleId /*id*/, std::span<const std::byte> payload) override {
        thread_local Workplace place;
        std::string problem = decode(place, payload);
        // After an error in a header a handle takes the next picture for the rest of this one.
        if (!problem.empty()) place.handle.reset(tjInitDecompress());
        return problem;
    }

private:
    static std::string decode(Workplace& place, std::span<const std::byte> payload) {
        if (!place.handle) return "no JPEG decoder could be set up";
        tjhandle handle = place.handle.get();
        const auto* data = reinterpret_cast<const unsigned char*>(payload.data());
        int width = 0;
        int height = 0;
        int subsampling = 0;
        int colorspace = -1;
        const int failed =
            tjDecompressHeader3(handle, data, payload.size(), &width, &height, &subsampling, &colorspace);
        // It also fails for what is merely warned of and for rare subsamplings that decode well: sides tell a header
        // that was read. A stream of tables alone passes as a header without an image.
        if (width <= 0 || height <= 0) {
            return fmt::format("is no JPEG: {}", failed != 0 ? tjGetErrorStr2(handle) : "it holds no image");
        }
        const auto pixels = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
        if (pixels > kMaxPixels) return fmt::format("claims {} x {} pixels", width, height);
        // What is printed in four inks has no conversion to RGB in the library; its inks are decoded.
        const bool inks = colorspace == TJCS_CMYK || colorspace == TJCS_YCCK;
        const int format = inks ? TJPF_CMYK : TJPF_RGB;
        place.pixels.resize(pixels * static_cast<std::uint64_t>(tjPixelSize[format]));
        if (tjDecompress2(handle, data, payload.size(), place.pixels.data(), width, 0, height, format, 0) != 0) {
            const std::string_view message = tjGetErrorStr2(handle);
            const std::string_view jpeg(reinterpret_cast<const char*>(data), payload.size());
            if (tjGetErrorCode(handle) != TJERR_WARNING) return fmt::format("cannot be decoded: {}", message);
            if (is_cut_off(message, jpeg)) return fmt::format("is cut off: {}", message);
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
