// CPU work on a sample after it was read; its time counts as `decode`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "loaders/dataset.h"

namespace feedline {

// decode() is called from any worker, on different samples at once.
class Decoder {
public:
    virtual ~Decoder() = default;
    // Empty string: fine. Otherwise what is wrong with the payload, for the error message.
    virtual std::string decode(SampleId id, std::span<const std::byte> payload) = 0;
};

// CRC32C of every payload. Small files carry no checksum of their own, so there is nothing to compare with: it computes
// one and says so through compared().
class CrcDecoder : public Decoder {
public:
    // Sum of the CRC32Cs of all payloads so far, modulo 2^64: equal for equal samples in any order.
    virtual std::uint64_t sum() const = 0;
    // Payloads that were checked against a known checksum.
    virtual std::uint64_t compared() const = 0;
};

// Throws Error{unsupported} in a build without isa-l.
std::shared_ptr<CrcDecoder> make_crc_decoder();

// Decodes every payload to RGB (CMYK and YCCK to CMYK), as a training job does, and throws the pixels away. What is no
// JPEG, is cut off, or claims an absurd size is an error; what else libjpeg-turbo merely warns of is not.
// Throws Error{unsupported} in a build without libjpeg-turbo.
std::shared_ptr<Decoder> make_jpeg_decoder();

}  // namespace feedline
