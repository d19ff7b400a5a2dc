#include "loaders/lmdb/lmdb_format.h"
#include "tests/fuzz/target.h"

namespace feedline {

void fuzz_one(std::span<const std::byte> input) {
    // liblmdb maps the file and trusts it.
    fuzz_format(LmdbFormat(), input, ReadBy::extents);
}

}  // namespace feedline
