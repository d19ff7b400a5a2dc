// From libFuzzer (https://llvm.org/docs/LibFuzzer.html) to a target.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/target.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    feedline::fuzz_one(std::as_bytes(std::span(data, size)));
    return 0;
}
