#include "loaders/hdf5/heap_check.h"

#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace feedline::hdf5 {
namespace {

// HDF5 File Format Specification, "Global Heap": a collection is "GCOL", version, 3 bytes, its size; then objects, each
// with number, references to it, 4 bytes, its size, and its bytes up to a multiple of 8. Number 0 is all that is left
// free.
constexpr std::size_t kCollectionHeader = 16;
constexpr std::size_t kObjectHeader = 16;
constexpr std::uint64_t kRound = 8;
constexpr std::size_t kReadAhead = 4096;
constexpr std::string_view kAstray = "a reference to an element of variable length leads nowhere";

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
    if (!known_) return {};
    const std::span<const std::byte> reference = bytes_.at(offset_bytes, kReference, kReadAhead);
    if (reference.size() < kReference) return std::string(kAstray);
    const auto elements = number_at<std::uint32_t>(reference, 0);
    const auto address = number_at<std::uint64_t>(reference, 4);
    const auto wanted = number_at<std::uint32_t>(reference, 12);
    if (elements == 0 && address == 0) return {};  // of an empty one that is in a heap, the library reads that
    if (address > bytes_.size_bytes() || address + base_bytes_ > bytes_.size_bytes()) return std::string(kAstray);
    if (!last_ || last_->begin_bytes != address + base_bytes_) last_ = walk(address + base_bytes_);
    if (!last_->problem.empty()) return last_->problem;
    const auto found = last_->object_bytes.find(wanted);
    if (found == last_->object_bytes.end()) return std::string(kAstray);
    return found->second == elements * element_bytes ? "" : "an element of variable length is not as long as it says";
}

HeapCheck::Collection HeapCheck::walk(std::uint64_t begin_bytes) {
    constexpr std::size_t kMostObjects = 65535;  // as many as there are numbers
    Collection collection{.begin_bytes = begin_bytes};
    const auto broken = [&](std::string_view what) {
        collection.problem = what;
        return std::move(collection);
    };
    const std::uint64_t most = bytes_.size_bytes() - begin_bytes;
    const std::span<const std::byte> header = bytes_.at(begin_bytes, kCollectionHeader, kReadAhead);
    if (header.size() < kCollectionHeader || std::memcmp(header.data(), "GCOL", 4) != 0) return broken(kAstray);
    const auto size = number_at<std::uint64_t>(header, 8);
    if (size > most) return broken("a heap of elements of variable length reaches past the end of the file");
    std::size_t objects = 0;
    for (std::uint64_t at = kCollectionHeader; at + kObjectHeader <= size;) {
        const std::span<const std::byte> object = bytes_.at(begin_bytes + at, kObjectHeader, kReadAhead);
        const auto number = number_at<std::uint16_t>(object, 0);
        const auto bytes = number_at<std::uint64_t>(object, 8);
        // Where what is free does not reach to the end, the library would walk on the spot.
        const bool free = number == 0;
        if (free ? bytes != size - at : ++objects > kMostObjects) {
            return broken("a heap of elements of variable length is damaged");
        }
        if (free) break;
        if (bytes > size - at - kObjectHeader) {
            return broken("an element of variable length reaches past the end of its heap");
        }
        collection.object_bytes.insert_or_assign(number, bytes);
        at += kObjectHeader + (bytes + kRound - 1) / kRound * kRound;
    }
    return collection;
}

}  // namespace feedline::hdf5
