#include "tests/loaders/formats/dataset_makers.h"

#include <fmt/format.h>

#include <array>

#if FEEDLINE_HAVE_LMDB
#include "tests/loaders/lmdb/lmdb_writer.h"
#endif
#include "tests/loaders/pth/pth_lab.h"
#include "tests/loaders/tfrecord/tfrecord_lab.h"
#include "tests/loaders/webdataset/tar_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

void write_files(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard) {
    for (std::size_t i = 0; i < payloads.size(); ++i) {
        write_file(fmt::format("{}/c{:04}/{:08}.bin", path, i / a_shard, i), payloads[i]);
    }
}

// Calls append(shard, i) for the payloads of each shard, and writes what came of it under name(shard).
template <typename Append, typename Name>
void write_shards(const std::vector<std::string>& payloads, std::size_t a_shard, const Append& append,
                  const Name& name) {
    for (std::size_t first = 0; first < payloads.size(); first += a_shard) {
        std::string shard;
        for (std::size_t i = first; i < std::min(first + a_shard, payloads.size()); ++i) append(shard, i);
        write_file(name(first / a_shard), shard);
    }
}

void write_tfrecord(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard) {
    const std::size_t shards = (payloads.size() + a_shard - 1) / a_shard;
    write_shards(
        payloads, a_shard, [&](std::string& shard, std::size_t i) { shard += framed(payloads[i]); },
        [&](std::size_t shard) { return fmt::format("{}/t-{:05}-of-{:05}.tfrecord", path, shard, shards); });
}

void write_pth(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard) {
    for (std::size_t first = 0; first < payloads.size(); first += a_shard) {
        PackedText packed;
        for (std::size_t i = first; i < std::min(first + a_shard, payloads.size()); ++i) {
            packed.payloads.push_back(payloads[i]);
            packed.labels.push_back(static_cast<std::int64_t>(i % 10));
            packed.keys.push_back(fmt::format("{:08}.bin", i));
        }
        write_file(fmt::format("{}/p-{:05}.pth", path, first / a_shard), packed_pth(packed));
    }
}

void write_webdataset(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard) {
    write_shards(
        payloads, a_shard,
        [&](std::string& shard, std::size_t i) {
            shard += tar_entry({.name = fmt::format("{:08}.bin", i), .content = payloads[i]});
            shard += tar_entry({.name = fmt::format("{:08}.cls", i), .content = std::to_string(i % 10)});
        },
        [&](std::size_t shard) { return fmt::format("{}/w-{:06}.tar", path, shard); });
}

#if FEEDLINE_HAVE_LMDB
void write_lmdb_shards(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard) {
    for (std::size_t first = 0; first < payloads.size(); first += a_shard) {
        std::vector<std::pair<std::string, std::string>> entries;
        for (std::size_t i = first; i < std::min(first + a_shard, payloads.size()); ++i) {
            entries.emplace_back(fmt::format("{:08}", i), payloads[i]);
        }
        write_lmdb(fmt::format("{}/l-{:05}.lmdb", path, first / a_shard), entries);
    }
}
#endif

}  // namespace

std::span<const FormatMaker> format_makers() {
    static const std::vector<FormatMaker> kMakers = {
        FormatMaker{"files", write_files},
#if FEEDLINE_HAVE_LMDB
        FormatMaker{"lmdb", write_lmdb_shards, false, false},
#endif
        FormatMaker{"pth", write_pth, false, false},
        FormatMaker{"tfrecord", write_tfrecord, true},
        FormatMaker{"webdataset", write_webdataset},
    };
    return kMakers;
}

}  // namespace feedline::test
