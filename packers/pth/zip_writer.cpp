#include "packers/pth/zip_writer.h"

#include <algorithm>
#include <array>
#include <concepts>

#include "core/crc32.h"
#include "core/little_endian.h"
#include "loaders/pth/zip_layout.h"

namespace feedline::pth {
namespace {

using namespace zip;

constexpr std::uint64_t kAlignmentBytes = 64;                  // of PyTorch's storages
constexpr std::uint16_t kVersion = 45;                         // the first with ZIP64
constexpr std::uint16_t kFlags = kDescriptorFlag | 1U << 11U;  // names are UTF-8
constexpr std::uint16_t kDate = 1U << 5U | 1U;                 // 1 January 1980: the same bytes on any day

template <std::unsigned_integral T>
void put(std::string& out, T value) {
    std::array<std::byte, sizeof(T)> bytes{};
    store_le(value, bytes);
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// What headers say where the ZIP64 field says more.
std::uint32_t narrow(std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min(value, kTooLarge32));
}

// Version, flags, method, time and date: the same in both headers.
void put_common(std::string& out) {
    put(out, kVersion);
    put(out, kFlags);
    put(out, std::uint16_t{0});
    put(out, std::uint16_t{0});
    put(out, kDate);
}

}  // namespace

// The size is not known yet, and may pass 4 GiB: a ZIP64 field in the local header says that those behind the data have
// 64 bits.
void ZipWriter::begin(std::string_view name) {
    constexpr std::size_t kZip64Bytes = 20;
    constexpr std::size_t kFieldBytes = 4;  // of the padding: its id and its size
    name_ = name;
    header_offset_ = file_.bytes();
    size_bytes_ = 0;
    crc32_ = 0;
    const std::uint64_t unpadded = header_offset_ + kLocalBytes + name.size() + kZip64Bytes + kFieldBytes;
    const std::uint64_t padding = (kAlignmentBytes - unpadded % kAlignmentBytes) % kAlignmentBytes;
    std::string header;
    put(header, kLocalSignature);
    put_common(header);
    put(header, std::uint32_t{0});  // CRC and sizes come behind the data
    put(header, narrow(kTooLarge32));
    put(header, narrow(kTooLarge32));
    put(header, static_cast<std::uint16_t>(name.size()));
    put(header, static_cast<std::uint16_t>(kZip64Bytes + kFieldBytes + padding));
    header += name;
    put(header, kZip64Extra);
    put(header, static_cast<std::uint16_t>(kZip64Bytes - kFieldBytes));
    put(header, std::uint64_t{0});
    put(header, std::uint64_t{0});
    header += "FB";  // as PyTorch calls and fills it (caffe2/serialize/inline_container.cc)
    put(header, static_cast<std::uint16_t>(padding));
    header.append(padding, 'Z');
    file_.append(header);
}

void ZipWriter::append(std::span<const std::byte> bytes) {
    crc32_ = crc32(bytes, crc32_);
    size_bytes_ += bytes.size();
    file_.append(bytes);
}

void ZipWriter::end() {
    std::string descriptor;
    put(descriptor, kDescriptorSignature);
    put(descriptor, crc32_);
    put(descriptor, size_bytes_);
    put(descriptor, size_bytes_);
    file_.append(descriptor);

    std::string wide;
    if (size_bytes_ >= kTooLarge32) {
        put(wide, size_bytes_);
        put(wide, size_bytes_);
    }
    if (header_offset_ >= kTooLarge32) put(wide, header_offset_);
    put(directory_, kCentralSignature);
    put(directory_, kVersion);
    put_common(directory_);
    put(directory_, crc32_);
    put(directory_, narrow(size_bytes_));
    put(directory_, narrow(size_bytes_));
    put(directory_, static_cast<std::uint16_t>(name_.size()));
    put(directory_, static_cast<std::uint16_t>(wide.empty() ? 0 : 4 + wide.size()));
    put(directory_, std::uint16_t{0});  // comment
    put(directory_, std::uint16_t{0});  // volume
    put(directory_, std::uint16_t{0});  // attributes
    put(directory_, std::uint32_t{0});
    put(directory_, narrow(header_offset_));
    directory_ += name_;
    if (!wide.empty()) {
        put(directory_, kZip64Extra);
        put(directory_, static_cast<std::uint16_t>(wide.size()));
        directory_ += wide;
    }
    ++entries_;
}

void ZipWriter::add(std::string_view name, std::string_view content) {
    begin(name);
    append(std::as_bytes(std::span(content)));
    end();
}

void ZipWriter::finish() {
    constexpr std::uint64_t kTooMany16 = 0xffff;
    const std::uint64_t offset = file_.bytes();
    std::string end;
    put(end, kWideEndSignature);
    put(end, static_cast<std::uint64_t>(kWideEndBytes - 12));  // behind this field
    put(end, kVersion);
    put(end, kVersion);
    put(end, std::uint32_t{0});
    put(end, std::uint32_t{0});
    put(end, entries_);
    put(end, entries_);
    put(end, static_cast<std::uint64_t>(directory_.size()));
    put(end, offset);
    put(end, kLocatorSignature);
    put(end, std::uint32_t{0});
    put(end, offset + directory_.size());
    put(end, std::uint32_t{1});
    put(end, kEndSignature);
    put(end, std::uint32_t{0});
    put(end, static_cast<std::uint16_t>(std::min(entries_, kTooMany16)));
    put(end, static_cast<std::uint16_t>(std::min(entries_, kTooMany16)));
    put(end, narrow(directory_.size()));
    put(end, narrow(offset));
    put(end, std::uint16_t{0});
    file_.append(directory_);
    file_.append(end);
}

}  // namespace feedline::pth
