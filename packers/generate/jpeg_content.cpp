#include "packers/generate/jpeg_content.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <utility>

#include "core/error.h"
#include "packers/generate/random_stream.h"

namespace feedline {
namespace {

constexpr int kQuality = 90;
constexpr int kBlock = 16;  // pixels: one minimum coded unit at 4:2:0
// Noise of 0 .. 2^6 - 1 in luminance and 0 .. 2^5 - 1 in chrominance.
constexpr unsigned kLumaNoiseMask = 63;
constexpr unsigned kChromaNoiseMask = 31;
// What a picture of this kind takes, measured over sizes from 1 KB to 16 MB; only a first guess, see start().
constexpr double kHeaderBytes = 623;
constexpr double kBytesPerBlock = 152;
// Aim a little low: a picture that came out too large is encoded again.
constexpr double kShareOfSize = 0.98;

struct Grid {
    int columns;
    int rows;
    int blocks() const { return columns * rows; }
};

// About 4:3, at most `blocks` blocks (one at least), and of the shapes near 4:3 the one that uses most of them.
Grid grid_of(double blocks) {
    const int most = std::max(1, static_cast<int>(blocks));
    const double middle = std::sqrt(most * 4.0 / 3);
    Grid best{1, 1};
    for (int columns = std::max(1, static_cast<int>(middle * 0.8)); columns <= middle * 1.25; ++columns) {
        const Grid grid{columns, most / columns};
        if (grid.blocks() > best.blocks()) best = grid;
    }
    return best;
}

// One plane: a gradient between the values at three corners, with noise on it. `plane` holds random bytes on entry.
void shade(std::span<std::byte> plane, int width, int height, unsigned noise_mask, SplitMix& random) {
    const int range = 255 - static_cast<int>(noise_mask);
    const auto corner = [&] { return static_cast<int>(random.next() % static_cast<std::uint64_t>(range + 1)); };
    const int origin = corner();
    const int across = corner() - origin;
    const int down = corner() - origin;
    for (int row = 0; row < height; ++row) {
        const int left = origin + down * row / height / 2;
        const int step = across * 32768 / width;  // half of the way, in 1/65536
        std::byte* line = plane.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(width);
        for (int column = 0; column < width; ++column) {
            const int base = left + step * column / 65536;
            const int noise = static_cast<int>(std::to_integer<unsigned>(line[column]) & noise_mask);
            line[column] = static_cast<std::byte>(base + noise);
        }
    }
}

void append_marker(std::vector<std::byte>& out, unsigned marker) {
    out.push_back(std::byte{0xFF});
    out.push_back(static_cast<std::byte>(marker));
}

}  // namespace

JpegContent::JpegContent(std::uint64_t seed) : seed_(seed), encoder_(tjInitCompress()) {
    if (encoder_ == nullptr) throw std::bad_alloc();
}

JpegContent::~JpegContent() {
    tjDestroy(encoder_);
}

void JpegContent::start(std::uint64_t sample, std::uint64_t size_bytes) {
    double blocks = (kShareOfSize * static_cast<double>(size_bytes) - kHeaderBytes) / kBytesPerBlock;
    for (;;) {
        const Grid grid = grid_of(blocks);
        const int width = kBlock * grid.columns;
        const int height = kBlock * grid.rows;
        draw(sample, width, height);
        const std::size_t encoded_bytes = encode(width, height);
        if (encoded_bytes <= size_bytes) {
            assemble(sample, encoded_bytes, size_bytes);
            return;
        }
        if (grid.blocks() <= 1) {
            throw Error(ErrorKind::internal, fmt::format("the smallest JPEG picture takes {} bytes", encoded_bytes));
        }
        const double wanted = kShareOfSize * static_cast<double>(size_bytes) - kHeaderBytes;
        const double got = static_cast<double>(encoded_bytes) - kHeaderBytes;
        blocks = std::min(grid.blocks() - 1.0, grid.blocks() * wanted / got);
    }
}

// Fills planes_ with Y, U and V of the picture of `sample`.
void JpegContent::draw(std::uint64_t sample, int width, int height) {
    const std::size_t luma = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    planes_.resize(luma + luma / 2);
    RandomStream noise(seed_, sample, Purpose::content);
    noise.fill(planes_);
    SplitMix random(seed_, sample, Purpose::picture);
    const std::span<std::byte> all(planes_);
    shade(all.first(luma), width, height, kLumaNoiseMask, random);
    shade(all.subspan(luma, luma / 4), width / 2, height / 2, kChromaNoiseMask, random);
    shade(all.subspan(luma + luma / 4), width / 2, height / 2, kChromaNoiseMask, random);
}

// Encodes planes_ into encoded_; returns the bytes used there.
std::size_t JpegContent::encode(int width, int height) {
    unsigned long used = tjBufSize(width, height, TJSAMP_420);
    if (encoded_.size() < used) encoded_.resize(used);
    const auto* y = reinterpret_cast<const unsigned char*>(planes_.data());
    const std::size_t luma = planes_.size() / 3 * 2;
    std::array<const unsigned char*, 3> planes{y, y + luma, y + luma + luma / 4};
    auto* out = reinterpret_cast<unsigned char*>(encoded_.data());
    // The accurate DCT gives the same bits with and without SIMD.
    if (tjCompressFromYUVPlanes(encoder_, planes.data(), width, nullptr, height, TJSAMP_420, &out, &used, kQuality,
                                TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT) != 0) {
        throw Error(ErrorKind::internal, fmt::format("libjpeg-turbo cannot encode {} x {} pixels: {}", width, height,
                                                     tjGetErrorStr2(encoder_)));
    }
    return used;
}

void JpegContent::assemble(std::uint64_t sample, std::size_t encoded_bytes, std::uint64_t size_bytes) {
    const std::span<const std::byte> encoded = std::span<const std::byte>(encoded_).first(encoded_bytes);
    const auto number = [&](std::size_t at) { return std::to_integer<std::size_t>(encoded[at]); };
    // SOI, and APP0 with its length, which JFIF wants first.
    const std::size_t head = 4 + (number(4) << 8U) + number(5);
    file_.assign(encoded.begin(), encoded.begin() + static_cast<std::ptrdiff_t>(head));
    file_.reserve(size_bytes);

    std::uint64_t missing = size_bytes - encoded_bytes;
    RandomStream filling(seed_, sample, Purpose::padding);
    constexpr std::uint64_t kLongestSegment = 2 + 65535;  // marker, then length and payload
    constexpr std::uint64_t kShortestSegment = 4;
    while (missing >= kShortestSegment) {
        std::uint64_t segment = std::min(missing, kLongestSegment);
        if (missing > segment && missing - segment < kShortestSegment) segment -= kShortestSegment;
        append_marker(file_, 0xFE);
        file_.push_back(static_cast<std::byte>((segment - 2) >> 8U));
        file_.push_back(static_cast<std::byte>(segment - 2));
        const std::size_t at = file_.size();
        file_.resize(at + segment - kShortestSegment);
        filling.fill(std::span(file_).subspan(at));
        missing -= segment;
    }
    file_.insert(file_.end(), missing, std::byte{0xFF});
    file_.insert(file_.end(), encoded.begin() + static_cast<std::ptrdiff_t>(head), encoded.end());
    delivered_ = false;
}

std::span<const std::byte> JpegContent::next_piece() {
    if (std::exchange(delivered_, true)) return {};
    return file_;
}

}  // namespace feedline
