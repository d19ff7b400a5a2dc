// What is in the files. One source a thread; the bytes of a sample depend on (seed, sample, size) alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "packers/generate/generate.h"
#include "packers/generate/sizes.h"

namespace feedline {

// Not thread-safe.
class ContentSource {
public:
    virtual ~ContentSource() = default;
    // Begins a sample of `size_bytes`; what was left of the one before is dropped.
    virtual void start(std::uint64_t sample, std::uint64_t size_bytes) = 0;
    // The next bytes of the sample, empty at its end; valid until the next call. All pieces together are exactly
    // size_bytes long. Memory stays bounded however large the sample is.
    virtual std::span<const std::byte> next_piece() = 0;
};

// Throws Error{unsupported} for JPEG in a build without libjpeg-turbo.
std::unique_ptr<ContentSource> make_content(Content content, std::uint64_t seed);

// ".bin" or ".JPEG".
std::string_view file_suffix(Content content);

// Sizes that a kind of content can have: JPEG needs room for its headers, and is encoded in memory.
SizeRange size_range(Content content);

}  // namespace feedline
