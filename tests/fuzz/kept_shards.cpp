#include "tests/fuzz/kept_shards.h"

#include <fmt/format.h>

#include "loaders/tfrecord/tfrecord_format.h"
#include "loaders/webdataset/webdataset_format.h"

namespace feedline {

KeptShards::KeptShards(std::span<const char* const> names) {
    static const TfrecordFormat tfrecord;
    static const WebdatasetFormat webdataset;
    for (const std::string_view name : names) {
        const bool records = name.starts_with("tfrecord/");
        const std::string path = directory_ / fmt::format("{}", shards_.size());
        test::write_file(path, test::read_file(fmt::format("{}/{}", FEEDLINE_FUZZ_INPUTS, name)));
        shards_.push_back({records ? static_cast<const Format*>(&tfrecord) : &webdataset, path});
    }
}

const KeptShard& KeptShards::chosen_by(std::byte byte) const {
    return shards_[std::to_integer<std::size_t>(byte) % shards_.size()];
}

}  // namespace feedline
