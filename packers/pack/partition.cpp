#include "packers/pack/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/units.h"

namespace feedline {
namespace {

// Calls each(position, bytes) for all samples in packed order.
template <typename Each>
void for_each_length(const Dataset& source, const SampleAt& sample_at, const Each& each) {
    constexpr std::size_t kAtOnce = 256;
    std::array<SampleId, kAtOnce> ids{};
    std::array<Extent, kAtOnce> extents{};
    for (std::uint64_t first = 0; first < source.size(); first += kAtOnce) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kAtOnce, source.size() - first));
        for (std::size_t i = 0; i < count; ++i) ids[i] = sample_at(first + i);
        source.locate(std::span(ids).first(count), std::span(extents).first(count));
        for (std::size_t i = 0; i < count; ++i) each(first + i, extents[i].length_bytes);
    }
}

void add(std::vector<ShardRange>& ranges, std::uint64_t bytes) {
    ++ranges.back().count;
    ranges.back().bytes += bytes;
}

std::vector<ShardRange> by_number(const Dataset& source, const SampleAt& sample_at, std::uint64_t shards) {
    if (shards > source.size()) {
        throw Error(ErrorKind::usage,
                    fmt::format("{} were asked for, and there are only {}", format_counted(shards, "shard"),
                                format_counted(source.size(), "sample")))
            .advise("Use fewer --shards");
    }
    std::vector<ShardRange> ranges;
    const double share = static_cast<double>(source.info().bytes) / static_cast<double>(shards);
    double before = 0;
    for_each_length(source, sample_at, [&](std::uint64_t position, std::uint64_t bytes) {
        const std::uint64_t left = source.size() - position;  // this one included
        const std::uint64_t open = shards - ranges.size();    // shards that have not begun
        // A sample belongs to the shard in which its middle lies; but every shard needs one.
        const bool due = before + static_cast<double>(bytes) / 2 >= share * static_cast<double>(ranges.size());
        if (ranges.empty() || (open > 0 && (due || left == open))) ranges.push_back({position, 0, 0});
        add(ranges, bytes);
        before += static_cast<double>(bytes);
    });
    return ranges;
}

}  // namespace

std::vector<ShardRange> partition(const Dataset& source, const SampleAt& sample_at, const PartitionOptions& options) {
    if (options.shards > 0) return by_number(source, sample_at, options.shards);
    std::vector<ShardRange> ranges;
    for_each_length(source, sample_at, [&](std::uint64_t position, std::uint64_t bytes) {
        const bool full =
            !ranges.empty() && ((options.shard_bytes > 0 && ranges.back().bytes + bytes > options.shard_bytes) ||
                                (options.shard_samples > 0 && ranges.back().count == options.shard_samples));
        if (ranges.empty() || full) ranges.push_back({position, 0, 0});
        add(ranges, bytes);
    });
    return ranges;
}

}  // namespace feedline
