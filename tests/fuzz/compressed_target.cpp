#include <zlib.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/little_endian.h"
#include "loaders/tfrecord/tfrecord_format.h"
#include "loaders/webdataset/webdataset_format.h"
#include "tests/fuzz/target.h"

namespace feedline {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMostInflated = std::size_t{2} << 20U;

const Bytef* bytef(std::span<const std::byte> bytes) {
    return reinterpret_cast<const Bytef*>(bytes.data());
}

// What a raw deflate stream inflates to, up to its end or its first fault, and how long it is.
struct Inflated {
    Bytes content;
    std::size_t stream_bytes = 0;
    bool whole = false;
};

Inflated inflate_all(std::span<const std::byte> input) {
    constexpr int kRaw = -15;
    static Bytes most(kMostInflated);  // made once: clearing it takes longer than a small input
    Inflated result;
    z_stream stream{};
    if (inflateInit2(&stream, kRaw) != Z_OK) report("zlib cannot begin");
    stream.next_in = const_cast<Bytef*>(bytef(input));
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(most.data());
    stream.avail_out = static_cast<uInt>(most.size());
    result.whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
    result.content.assign(most.begin(), most.end() - static_cast<std::ptrdiff_t>(stream.avail_out));
    result.stream_bytes = input.size() - stream.avail_in;
    inflateEnd(&stream);
    return result;
}

void append(Bytes& file, std::span<const std::byte> bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
}

void append_number(Bytes& file, std::uint64_t value, bool big_endian) {
    std::array<std::byte, sizeof(std::uint32_t)> bytes{};
    store_le(static_cast<std::uint32_t>(value), std::span(bytes));
    if (big_endian) std::reverse(bytes.begin(), bytes.end());
    append(file, bytes);
}

// RFC 1952 and 1950, with the checksums of what is inside.
void append_gzip(Bytes& file, std::span<const std::byte> stream, std::span<const std::byte> content) {
    constexpr std::array<unsigned char, 10> kHeader = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    append(file, std::as_bytes(std::span(kHeader)));
    append(file, stream);
    append_number(file, crc32(0, bytef(content), static_cast<uInt>(content.size())), false);
    append_number(file, content.size(), false);
}

void append_zlib(Bytes& file, std::span<const std::byte> stream, std::span<const std::byte> content) {
    constexpr std::array<unsigned char, 2> kHeader = {0x78, 0x9c};
    append(file, std::as_bytes(std::span(kHeader)));
    append(file, stream);
    append_number(file, adler32(1, bytef(content), static_cast<uInt>(content.size())), true);
}

// Backwards, so that each read begins anew.
void expect_parts_of(std::span<const std::byte> content, const Dataset& dataset) {
    constexpr SampleId kMostSamples = 64;
    const std::unique_ptr<NativeReader> reader = dataset.native_reader();
    Bytes record;
    for (SampleId left = std::min(dataset.size(), kMostSamples); left > 0; --left) {
        const SampleId id = dataset.size() - left;
        Extent extent;
        dataset.locate(std::span(&id, 1), std::span(&extent, 1));
        record.resize(extent.length_bytes);
        if (reader->read(id, extent, record) != static_cast<std::int64_t>(record.size())) report("a sample is lost");
        const bool there = extent.offset_bytes + extent.length_bytes <= content.size();
        const auto from = content.begin() + static_cast<std::ptrdiff_t>(extent.offset_bytes);
        if (!there || !std::equal(record.begin(), record.end(), from)) report("a sample is not what was compressed");
    }
}

}  // namespace

void fuzz_one(std::span<const std::byte> input) {
    if (input.empty()) return;
    const auto how = std::to_integer<unsigned>(input.front());
    const bool tar = (how & 1U) != 0;
    const bool zlib = (how & 2U) != 0;
    const bool twice = !zlib && (how & 4U) != 0;
    const Inflated inflated = inflate_all(input.subspan(1));
    if (inflated.content.size() == kMostInflated) return;
    const std::span<const std::byte> stream = input.subspan(1, inflated.stream_bytes);
    Bytes file;
    Bytes content;
    for (int members = twice ? 2 : 1; members > 0; --members) {
        zlib ? append_zlib(file, stream, inflated.content) : append_gzip(file, stream, inflated.content);
        append(content, inflated.content);
    }
    append(file, input.subspan(1 + stream.size()));
    static const TfrecordFormat tfrecord;
    static const WebdatasetFormat webdataset;
    const Format& format = tar ? static_cast<const Format&>(webdataset) : tfrecord;
    fuzz_format(format, file);
    const MemoryFile shard(file);
    expect_answer_or_error([&] {
        const std::unique_ptr<Dataset> dataset = format.open(shard.path(), {.threads = 1});
        if (!dataset->has_extents()) expect_parts_of(content, *dataset);
    });
}

}  // namespace feedline
