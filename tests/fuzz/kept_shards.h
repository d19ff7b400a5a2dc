// Shards that stay as they are while what lies beside them is fuzzed.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "loaders/dataset.h"
#include "tests/testutil/memory_directory.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {

struct KeptShard {
    const Format* format;
    std::string path;
};

class KeptShards {
public:
    // Copies of inputs of other targets, `names` as in "tfrecord/gzip", in a directory that is gone with this.
    explicit KeptShards(std::span<const char* const> names);

    // The one that the first byte of an input stands for.
    const KeptShard& chosen_by(std::byte byte) const;
    // Where a test may put more.
    std::string beside(std::string_view name) const { return directory_ / name; }
    std::span<const KeptShard> all() const { return shards_; }

private:
    test::TempDir directory_{test::memory_directory()};
    std::vector<KeptShard> shards_;
};

}  // namespace feedline
