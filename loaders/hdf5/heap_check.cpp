#include "loaders/hdf5/heap_check.h"

#include <cstring>
#include <span>

namespace feedline::hdf5 {
namespace {

// HDF5 File Format Specification, "Global Heap": a collection is "GCOL", version, 3 bytes, its size; then objects, each
// with number, references to it, 4 bytes, its size, and its bytes up to a multiple of 8. Number 0 is all that is left
// free.
constexpr std::size_t kCollectionHeader = 16;
constexpr std::size_t kObjectHeader = 16;
constexpr std::uint64_t kRound = 8;

template <typename Number>
Number number_at(std::span<const std::byte> bytes, std::size_t offset) {
    Number number = 0;
    std::memcpy(&number, bytes.data() + offset, sizeof number);
    return number;
}

}  // namespace

HeapCheck::HeapCheck(const File& file)
    : base_bytes_(file.userblock_bytes),
      known_(file.address_bytes == 8 && file.length_bytes == 8),
      bytes_(file.path, file.size_bytes) {}

std::string HeapCheck::problem(std::uint64_t offset_bytes, std::uint64_t element_bytes) {
    constexpr std::size_t kReference = 16;
    constexpr std::size_t kReadAhead = 4096;
    const std::string astray = "a reference to an element of variable length leads nowhere";
    if (!known_) return {};
    const std::span<const std::byte> reference = bytes_.at(offset_bytes, kReference, kReadAhead);
    if (reference.size() < kReference) return astray;
    const auto elements = number_at<std::uint32_t>(reference, 0);
    const auto address = number_at<std::uint64_t>(reference, 4);
    const auto wanted = number_at<std::uint32_t>(reference, 12);
    if (elements == 0) return {};
    if (address > bytes_.size_bytes() || address + base_bytes_ > bytes_.size_bytes()) return astray;

    const std::uint64_t collection = address + base_bytes_;
    const std::uint64_t most = bytes_.size_bytes() - collection;
    const std::span<const std::byte> header = bytes_.at(collection, kCollectionHeader, kReadAhead);
    if (header.size() < kCollectionHeader || std::memcmp(header.data(), "GCOL", 4) != 0) return astray;
    const auto size = number_at<std::uint64_t>(header, 8);
    if (size > most) return "a heap of elements of variable length reaches past the end of the file";

    std::string verdict = astray;
    for (std::uint64_t at = kCollectionHeader; at + kObjectHeader <= size;) {
        const std::span<const std::byte> object = bytes_.at(collection + at, kObjectHeader, kReadAhead);
        const auto number = number_at<std::uint16_t>(object, 0);
        const auto bytes = number_at<std::uint64_t>(object, 8);
        if (number == 0) {
            // The library would walk on the spot.
            return bytes == size - at ? verdict : "a heap of elements of variable length is damaged";
        }
        if (bytes > size - at - kObjectHeader) return "an element of variable length reaches past the end of its heap";
        if (number == wanted) {
            verdict =
                bytes == elements * element_bytes ? "" : "an element of variable length is not as long as it says";
        }
        at += kObjectHeader + (bytes + kRound - 1) / kRound * kRound;
    }
    return verdict;
}

}  // namespace feedline::hdf5
