// Signatures and sizes of a ZIP archive (.ZIP File Format Specification 6.3, PKWARE, section 4.3).
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedline::pth::zip {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kWideEndSignature = 0x06064b50;
constexpr std::uint32_t kLocatorSignature = 0x07064b50;
constexpr std::uint32_t kDescriptorSignature = 0x08074b50;

constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kWideEndBytes = 56;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::size_t kMaxDescriptorBytes = 24;  // signature, CRC, two sizes of 64 bits
constexpr std::size_t kMaxCommentBytes = 0xffff;

constexpr std::uint64_t kTooLarge32 = 0xffffffff;  // "see the ZIP64 extra field"
constexpr std::uint16_t kZip64Extra = 1;

constexpr std::uint16_t kDescriptorFlag = 1U << 3U;
constexpr std::uint16_t kEncryptedFlags = 1U << 0U | 1U << 6U | 1U << 13U;

}  // namespace feedline::pth::zip
