// Real JPEG files of an exact size.
//
// Each file is a picture of its own, a colour gradient under noise, encoded by libjpeg-turbo at 4:2:0. The noise is set
// so that a pixel takes about as many bits as in ImageNet's photographs (110 KB for 500 x 375 pixels), so a decoder has
// about as much to do; the picture is given as many pixels as the wanted size allows. What is then missing to the size,
// a few percent, is filled with a comment:
//
//   SOI | APP0 (JFIF) | FF fill bytes (0 to 3) | COM segments | DQT SOF0 DHT SOS ... scan ... | EOI
//
// Fill bytes and comments are part of the format (ITU-T T.81, B.1.1.2 and B.2.4.5); every decoder skips them.
// The same libjpeg-turbo gives the same bytes; another version may encode the same picture differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packers/generate/content.h"

namespace feedline {

// Headers take about 600 bytes, and a picture has at least one block of 16 x 16 pixels.
inline constexpr std::uint64_t kSmallestJpegBytes = 1024;
// A picture is encoded in memory: about three times its size in the file.
inline constexpr std::uint64_t kLargestJpegBytes = 16U << 20U;

class JpegContent final : public ContentSource {
public:
    explicit JpegContent(std::uint64_t seed);
    ~JpegContent() override;

    // size_bytes lies between the two limits above.
    void start(std::uint64_t sample, std::uint64_t size_bytes) override;
    std::span<const std::byte> next_piece() override;

private:
    void draw(std::uint64_t sample, int width, int height);
    std::size_t encode(int width, int height);
    void assemble(std::uint64_t sample, std::size_t encoded_bytes, std::uint64_t size_bytes);

    std::uint64_t seed_;
    void* encoder_;  // tjhandle
    std::vector<std::byte> planes_;
    std::vector<std::byte> encoded_;
    std::vector<std::byte> file_;
    bool delivered_ = true;
};

}  // namespace feedline
