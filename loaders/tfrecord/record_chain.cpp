#include "loaders/tfrecord/record_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/little_endian.h"
#include "loaders/tfrecord/framing.h"

namespace feedline::tfrecord {
namespace {

// Small records are read through, large ones jumped over: about what a disk transfers in the time of one access.
constexpr std::uint64_t kReadThroughBytes = 32U << 10U;
constexpr std::size_t kReadAheadBytes = 256U << 10U;
constexpr std::size_t kSearchBytes = 1U << 20U;

// The length of a record that begins at `offset` and fits in the file.
std::optional<std::uint64_t> record_at(FileWindow& file, std::uint64_t offset) {
    const std::span<const std::byte> bytes = file.at(offset, kHeaderBytes);
    if (bytes.size() < kHeaderBytes) return std::nullopt;
    const std::optional<std::uint64_t> length = parse_header(bytes.first<kHeaderBytes>());
    const std::uint64_t left = file.size_bytes() - offset;
    if (!length || left < kFramingBytes || *length > left - kFramingBytes) return std::nullopt;
    return length;
}

}  // namespace

void RecordChain::follow(FileWindow& file, std::uint64_t until_bytes, Chain& chain) const {
    const std::uint64_t from = chain.end_bytes;
    const std::size_t before = chain.links.size();
    std::uint64_t at = from;
    const auto stop = [&](std::string what) {
        chain.end_bytes = at;
        chain.fault = std::move(what);
    };
    while (at < until_bytes && at < file.size_bytes()) {
        const std::uint64_t walked = chain.links.size() - before;
        const bool small = walked == 0 || (at - from) / walked < kReadThroughBytes;
        const std::span<const std::byte> bytes = file.at(at, kHeaderBytes, small ? kReadAheadBytes : 0);
        const std::uint64_t left = file.size_bytes() - at;
        if (bytes.size() < kHeaderBytes) {
            return stop(fmt::format("the file ends inside a record's header, of which {} bytes are there", left));
        }
        const std::optional<std::uint64_t> length = parse_header(bytes.first<kHeaderBytes>());
        if (!length) return stop("the checksum of a record's length does not match");
        if (left < kFramingBytes || *length > left - kFramingBytes) {
            return stop(fmt::format("a record of {} bytes begins here, and the file ends {} bytes on", *length, left));
        }
        chain.links.push_back({at, 0});
        at += *length + kFramingBytes;
    }
    chain.end_bytes = at;
}

std::optional<std::uint64_t> RecordChain::find(FileWindow& file, std::uint64_t from_bytes,
                                               std::uint64_t until_bytes) const {
    for (std::uint64_t base = from_bytes; base < until_bytes; base += kSearchBytes) {
        // A copy: checking a candidate's successor moves the window.
        const std::span<const std::byte> seen = file.at(base, kSearchBytes + kHeaderBytes - 1);
        const std::vector<std::byte> bytes(seen.begin(), seen.end());
        const std::uint64_t starts = std::min<std::uint64_t>(kSearchBytes, until_bytes - base);
        for (std::uint64_t i = 0; i < starts && i + kHeaderBytes <= bytes.size(); ++i) {
            const std::span candidate = std::span<const std::byte>(bytes).subspan(i).first<kHeaderBytes>();
            // What is no length at all costs no checksum.
            if (load_le<std::uint64_t>(candidate) > file.size_bytes() || !parse_header(candidate)) continue;
            const std::optional<std::uint64_t> length = record_at(file, base + i);
            if (!length) continue;
            const std::uint64_t next = base + i + *length + kFramingBytes;
            if (next == file.size_bytes() || record_at(file, next)) return base + i;
        }
    }
    return std::nullopt;
}

}  // namespace feedline::tfrecord
