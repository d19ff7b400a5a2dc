#include "tests/loaders/formats/dataset_makers.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#if FEEDLINE_HAVE_HDF5
#include "tests/loaders/hdf5/hdf5_lab.h"
#endif
#if FEEDLINE_HAVE_LMDB
#include "tests/loaders/lmdb/lmdb_writer.h"
#endif
#include "tests/loaders/pth/pth_lab.h"
#if FEEDLINE_HAVE_ZLIB
#include "tests/loaders/shards/deflate.h"
#endif
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

#if FEEDLINE_HAVE_ZLIB
// What was written below `path` by another, compressed under the same names.
void compress(const std::string& path) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
        write_file(entry.path(), gzipped(read_file(entry.path())));
    }
}

void write_tfrecord_gz(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard) {
    write_tfrecord(path, payloads, a_shard);
    compress(path);
}
#endif

// Every second byte of a storage: tensors whose bytes do not lie together.
void write_strided_pth(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard) {
    for (std::size_t first = 0; first < payloads.size(); first += a_shard) {
        std::vector<std::pair<std::string, std::string>> tensors;
        StorageTexts storages;
        for (std::size_t i = first; i < std::min(first + a_shard, payloads.size()); ++i) {
            std::string storage;
            for (const char byte : payloads[i]) storage += {byte, '?'};
            const std::string key = std::to_string(storages.size());
            tensors.emplace_back(fmt::format("{:08}", i),
                                 pickled_tensor({.storage = key,
                                                 .type = "ByteStorage",
                                                 .elements = static_cast<std::int64_t>(storage.size()),
                                                 .sizes = {static_cast<std::int64_t>(payloads[i].size())},
                                                 .strides = {2}}));
            storages.emplace_back(key, std::move(storage));
        }
        write_file(fmt::format("{}/p-{:05}.pth", path, first / a_shard), pth_of(pickled_dict(tensors), storages));
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

#if FEEDLINE_HAVE_HDF5
template <bool Compressed>
void write_hdf5(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard) {
    for (std::size_t first = 0; first < payloads.size(); first += a_shard) {
        const auto begin = payloads.begin() + static_cast<std::ptrdiff_t>(first);
        const std::size_t count = std::min(a_shard, payloads.size() - first);
        write_packed_hdf5(fmt::format("{}/h-{:05}.h5", path, first / a_shard),
                          {begin, begin + static_cast<std::ptrdiff_t>(count)},
                          Compressed ? Hdf5Storage{.chunk = {10'000}, .gzip = true} : Hdf5Storage{});
    }
}
#endif

#if FEEDLINE_HAVE_ZLIB
void write_webdataset_gz(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard) {
    write_webdataset(path, payloads, a_shard);
    compress(path);
}
#endif

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
        FormatMaker{.format = "files", .write = write_files, .native = false},
#if FEEDLINE_HAVE_HDF5
        FormatMaker{.format = "hdf5", .write = write_hdf5<false>, .readable_up_to_a_cut = false},
        FormatMaker{.format = "hdf5",
                    .write = write_hdf5<true>,
                    .readable_up_to_a_cut = false,
                    .extents = false,
                    .variant = "_gz"},
#endif
#if FEEDLINE_HAVE_LMDB
        FormatMaker{.format = "lmdb", .write = write_lmdb_shards, .readable_up_to_a_cut = false},
#endif
        FormatMaker{.format = "tfrecord", .write = write_tfrecord, .checksums = true},
        FormatMaker{.format = "webdataset", .write = write_webdataset},
#if FEEDLINE_HAVE_ZLIB
        FormatMaker{.format = "tfrecord", .write = write_tfrecord_gz, .extents = false, .variant = "_gz"},
        FormatMaker{.format = "webdataset", .write = write_webdataset_gz, .extents = false, .variant = "_gz"},
#endif
        FormatMaker{.format = "pth", .write = write_pth, .readable_up_to_a_cut = false},
        FormatMaker{.format = "pth",
                    .write = write_strided_pth,
                    .readable_up_to_a_cut = false,
                    .extents = false,
                    .variant = "_strided"},
    };
    return kMakers;
}

}  // namespace feedline::test
