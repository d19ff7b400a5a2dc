#include "loaders/pth/pth_format.h"
#include "tests/fuzz/target.h"

namespace feedline {

void fuzz_one(std::span<const std::byte> input) {
    const MemoryFile file(input);
    expect_answer_or_error([&] {
        const PthFormat format;
        static_cast<void>(format.probe(file.path()));
        read_everything(*format.open(file.path(), {.threads = 1}));
    });
}

}  // namespace feedline
