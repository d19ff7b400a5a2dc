#include <array>

#include "tests/fuzz/kept_shards.h"
#include "tests/fuzz/target.h"

namespace feedline {

void fuzz_one(std::span<const std::byte> input) {
    static constexpr std::array kNames = {"tfrecord/examples", "webdataset/ustar", "tfrecord/records", "webdataset/gnu",
                                          "webdataset/pax"};
    static const KeptShards shards(kNames);
    if (input.empty()) return;
    const KeptShard& shard = shards.chosen_by(input.front());
    const std::span<const std::byte> text = input.subspan(1);
    test::write_file(shard.path + ".idx", {reinterpret_cast<const char*>(text.data()), text.size()});
    // An index that does not fit is passed over, so whatever it says there is a dataset.
    const std::unique_ptr<Dataset> dataset = shard.format->open(shard.path, {.threads = 1});
    read_everything(*dataset);
}

}  // namespace feedline
