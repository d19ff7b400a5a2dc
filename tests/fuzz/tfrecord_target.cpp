#include "loaders/tfrecord/tfrecord_format.h"
#include "tests/fuzz/target.h"

namespace feedline {

void fuzz_one(std::span<const std::byte> input) {
    fuzz_format(TfrecordFormat(), input);
}

}  // namespace feedline
