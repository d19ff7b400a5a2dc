#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <string>

#include "core/crc32c.h"
#include "core/little_endian.h"
#include "tests/fuzz/kept_shards.h"
#include "tests/fuzz/target.h"

namespace feedline {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What is kept of a shard, up to where the input takes over.
struct Kept {
    std::string path;
    std::string head;  // what it is and of which shard
};

class Cache {
public:
    Cache() : shards_(kNames) {
        for (const KeptShard& shard : shards_.all()) {
            const std::string directory = shard.path + ".cache";
            static_cast<void>(shard.format->open(shard.path, {.threads = 1, .index_cache = directory}));
            const std::string path = std::filesystem::directory_iterator(directory)->path();
            std::string content = test::read_file(path);
            content.resize(head_bytes(content));
            kept_.emplace(shard.path, Kept{path, std::move(content)});
        }
    }

    const KeptShard& put(std::span<const std::byte> input) const {
        const KeptShard& shard = shards_.chosen_by(input.front());
        const Kept& kept = kept_.at(shard.path);
        std::string content = kept.head + text_of(input.subspan(1));
        std::array<std::byte, sizeof(std::uint64_t)> checksum{};
        store_le(std::uint64_t{crc32c(std::as_bytes(std::span(content)))}, std::span(checksum));
        content += text_of(checksum);
        test::write_file(kept.path, content);
        return shard;
    }

private:
    static constexpr std::array kNames = {"tfrecord/examples", "webdataset/ustar", "tfrecord/gzip", "webdataset/gzip",
                                          "tfrecord/zlib"};

    // Two texts with their lengths before them.
    static std::size_t head_bytes(const std::string& content) {
        std::size_t at = 0;
        for (int texts = 0; texts < 2; ++texts) {
            at += load_le<std::uint64_t>(std::as_bytes(std::span(content)).subspan(at)) + sizeof(std::uint64_t);
        }
        return at;
    }

    KeptShards shards_;
    std::map<std::string, Kept> kept_;
};

}  // namespace

void fuzz_one(std::span<const std::byte> input) {
    static const Cache cache;
    if (input.empty()) return;
    const KeptShard& shard = cache.put(input);
    const OpenOptions options{.threads = 1,
                              .index_cache = shard.path + ".cache",
                              .index_cache_from_ns = std::numeric_limits<std::int64_t>::max()};
    // What is kept and cannot be is passed over; what could be may still be of no record in the shard.
    expect_answer_or_error([&] { read_everything(*shard.format->open(shard.path, options)); });
}

}  // namespace feedline
