#include <sys/stat.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "bench/coldness.h"

namespace feedline {
namespace {

constexpr std::size_t kSamplesAtATime = 65'536;

// Of all files, where extents do not say what is read of them.
std::uint64_t files_in_blocks(const Dataset& dataset, std::uint64_t block_bytes) {
    std::uint64_t blocks = 0;
    std::string scratch;
    for (std::uint64_t shard = 0; shard < dataset.info().shards; ++shard) {
        const Source source = dataset.source(static_cast<ShardId>(shard), scratch);
        struct stat st {};
        const int result = source.fd >= 0 ? ::fstat(source.fd, &st) : ::fstatat(source.dir_fd, source.name, &st, 0);
        if (result == 0) blocks += (static_cast<std::uint64_t>(st.st_size) + block_bytes - 1) / block_bytes;
    }
    return blocks * block_bytes;
}

}  // namespace

void PageCount::add(std::span<const Extent> extents) {
    for (const Extent& extent : extents) {
        if (extent.length_bytes == 0) continue;
        const Run run{extent.shard, extent.offset_bytes / unit_bytes_,
                      (extent.offset_bytes + extent.length_bytes - 1) / unit_bytes_};
        if (!runs_.empty()) {
            Run& last = runs_.back();
            if (last.shard == run.shard && run.first_page >= last.first_page && run.first_page <= last.last_page + 1) {
                last.last_page = std::max(last.last_page, run.last_page);
                continue;
            }
        }
        runs_.push_back(run);
    }
}

std::uint64_t PageCount::pages() {
    std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
        return std::tie(a.shard, a.first_page) < std::tie(b.shard, b.first_page);
    });
    std::uint64_t pages = 0;
    const Run* before = nullptr;
    std::uint64_t counted_to = 0;  // first page of the shard that was not counted
    for (const Run& run : runs_) {
        if (before == nullptr || before->shard != run.shard) counted_to = 0;
        const std::uint64_t first = std::max(run.first_page, counted_to);
        if (run.last_page + 1 > first) pages += run.last_page + 1 - first;
        counted_to = std::max(counted_to, run.last_page + 1);
        before = &run;
    }
    return pages;
}

std::uint64_t bytes_in_blocks(const Dataset& dataset, std::span<const SampleId> ids, std::uint64_t block_bytes) {
    if (!dataset.has_extents()) {
        const double share =
            static_cast<double>(ids.size()) / static_cast<double>(std::max<std::uint64_t>(dataset.size(), 1));
        return static_cast<std::uint64_t>(share * static_cast<double>(files_in_blocks(dataset, block_bytes)));
    }
    PageCount count(block_bytes);
    std::vector<Extent> extents;
    for (std::size_t first = 0; first < ids.size(); first += kSamplesAtATime) {
        const auto part = ids.subspan(first, std::min(kSamplesAtATime, ids.size() - first));
        extents.resize(part.size());
        dataset.locate(part, extents);
        count.add(extents);
    }
    return count.bytes();
}

std::uint64_t bytes_in_blocks(const Dataset& dataset, std::uint64_t block_bytes) {
    if (!dataset.has_extents()) return files_in_blocks(dataset, block_bytes);
    const std::uint64_t samples = dataset.size();
    // A file a sample: no two share a page, and nothing need be remembered of a million of them.
    const bool file_a_sample = dataset.info().shards == samples;
    PageCount all(block_bytes);
    std::uint64_t bytes = 0;
    std::vector<SampleId> ids;
    std::vector<Extent> extents;
    for (std::uint64_t first = 0; first < samples; first += kSamplesAtATime) {
        ids.resize(std::min<std::uint64_t>(kSamplesAtATime, samples - first));
        extents.resize(ids.size());
        std::iota(ids.begin(), ids.end(), first);
        dataset.locate(ids, extents);
        if (file_a_sample) {
            PageCount part(block_bytes);
            part.add(extents);
            bytes += part.bytes();
        } else {
            all.add(extents);
        }
    }
    return file_a_sample ? bytes : all.bytes();
}

std::uint64_t logical_bytes(const Dataset& dataset) {
    return bytes_in_blocks(dataset, PageCount::kPageBytes);
}

std::uint64_t logical_bytes(const Dataset& dataset, std::span<const SampleId> ids) {
    return bytes_in_blocks(dataset, ids, PageCount::kPageBytes);
}

}  // namespace feedline
