#include "loaders/webdataset/webdataset_format.h"
#include "tests/fuzz/target.h"

namespace feedline {

void fuzz_one(std::span<const std::byte> input) {
    fuzz_format(WebdatasetFormat(), input);
}

}  // namespace feedline
