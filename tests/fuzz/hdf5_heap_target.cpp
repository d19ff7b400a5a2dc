#include <algorithm>
#include <cstring>

#include "loaders/hdf5/heap_check.h"
#include "tests/fuzz/target.h"

namespace feedline {
namespace {

// Where a sound reference leads to there are the bytes that it speaks of.
bool has_element(std::span<const std::byte> input, std::uint64_t at) {
    std::uint32_t bytes = 0;
    std::uint64_t address = 0;
    std::memcpy(&bytes, input.data() + at, sizeof bytes);
    std::memcpy(&address, input.data() + at + sizeof bytes, sizeof address);
    return bytes == 0 || (address < input.size() && bytes < input.size() - address);
}

}  // namespace

void fuzz_one(std::span<const std::byte> input) {
    constexpr std::uint64_t kReferenceBytes = 16;
    constexpr std::uint64_t kMostBytes = 64 * kReferenceBytes;
    const MemoryFile file(input);
    expect_answer_or_error([&] {
        hdf5::File known;
        known.path = file.path();
        known.size_bytes = input.size();
        hdf5::HeapCheck heap(known);
        for (std::uint64_t at = 0; at <= std::min<std::uint64_t>(input.size(), kMostBytes); at += kReferenceBytes) {
            const bool sound = heap.problem(at, 1).empty();
            if (sound && (input.size() - at < kReferenceBytes || !has_element(input, at))) report("no such element");
        }
    });
}

}  // namespace feedline
