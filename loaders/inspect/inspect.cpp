#include "loaders/inspect/inspect.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/fd.h"
#include "core/units.h"
#include "loaders/engine/engine.h"
#include "loaders/left_behind.h"
#include "loaders/oddity_text.h"
#include "loaders/packed/manifest.h"

namespace feedline {
namespace {

constexpr std::uint64_t kMostLengths = 1'000'000;
// What is larger is looked into by its beginning: a file of 10 GB need not be read to be described.
constexpr std::uint64_t kMostRecordBytes = 64U << 20U;

SizeDistribution sizes_of(const Dataset& dataset) {
    const std::uint64_t count = std::min(dataset.size(), kMostLengths);
    std::vector<std::uint64_t> lengths;
    lengths.reserve(count);
    constexpr std::size_t kAtOnce = 256;
    std::array<SampleId, kAtOnce> ids{};
    std::array<Extent, kAtOnce> extents{};
    for (std::uint64_t first = 0; first < count; first += kAtOnce) {
        const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(kAtOnce, count - first));
        for (std::size_t i = 0; i < some; ++i) {
            // dataset.size() * position may be more than 64 bits hold.
            ids[i] = static_cast<SampleId>(static_cast<double>(first + i) *
                                           (static_cast<double>(dataset.size()) / static_cast<double>(count)));
        }
        dataset.locate(std::span(ids).first(some), std::span(extents).first(some));
        for (std::size_t i = 0; i < some; ++i) lengths.push_back(extents[i].length_bytes);
    }
    std::sort(lengths.begin(), lengths.end());
    // The nearest rank: at least so many of all are no larger.
    const auto at = [&](double fraction) {
        return lengths[static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(lengths.size()))) - 1];
    };
    return {.smallest_bytes = lengths.front(),
            .p10_bytes = at(0.10),
            .p50_bytes = at(0.50),
            .p90_bytes = at(0.90),
            .p99_bytes = at(0.99),
            .largest_bytes = std::max(lengths.back(), dataset.info().max_length_bytes),
            .mean_bytes = static_cast<double>(dataset.info().bytes) / static_cast<double>(dataset.size()),
            .of_all = count == dataset.size()};
}

// One after the other: a description is not a measurement.
class OneByOne {
public:
    explicit OneByOne(const std::shared_ptr<const Dataset>& dataset) : dataset_(dataset) {
        if (!dataset->has_extents()) native_ = dataset->native_reader();
    }

    // The record of `id`, or what is wrong.
    std::span<const std::byte> read(SampleId id, std::string& problem) {
        Extent extent;
        dataset_->locate(std::span(&id, 1), std::span(&extent, 1));
        problem.clear();
        buffer_.resize(std::min(extent.length_bytes, kMostRecordBytes) + 1);
        const auto wanted = static_cast<std::size_t>(std::min(extent.length_bytes, kMostRecordBytes));
        std::int64_t n = 0;
        if (native_ != nullptr) {
            if (extent.length_bytes > kMostRecordBytes) buffer_.resize(extent.length_bytes);
            n = native_->read(id, extent, buffer_);
            if (n < 0) problem = native_->problem();
        } else {
            n = plain(extent, wanted);
        }
        if (n < 0 && problem.empty())
            problem = Error(ErrorKind::io, "cannot be read").because(static_cast<int>(-n)).what();
        if (n < 0) return {};
        return std::span(buffer_).first(static_cast<std::size_t>(n));
    }

private:
    std::int64_t plain(const Extent& extent, std::size_t wanted) {
        const std::string path = dataset_->path(extent.shard);
        const Fd fd(::open(path.c_str(), open_flags(false, false) | O_CLOEXEC));
        if (!fd) return -errno;
        std::size_t have = 0;
        while (have < wanted) {
            const ssize_t n =
                ::pread(fd.get(), buffer_.data() + have, wanted - have, static_cast<off_t>(extent.offset_bytes + have));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return -errno;
            if (n == 0) break;
            have += static_cast<std::size_t>(n);
        }
        return static_cast<std::int64_t>(have);
    }

    std::shared_ptr<const Dataset> dataset_;
    std::unique_ptr<NativeReader> native_;
    std::vector<std::byte> buffer_;
};

InspectedSample look_into(const Dataset& dataset, OneByOne& reader, SampleId id, LeftBehindNotes& left) {
    InspectedSample sample;
    sample.key = dataset.key(id);
    Extent extent;
    dataset.locate(std::span(&id, 1), std::span(&extent, 1));
    sample.record_bytes = extent.length_bytes;
    const std::span<const std::byte> record = reader.read(id, sample.problem);
    if (!sample.problem.empty()) return sample;
    const bool whole = record.size() == extent.length_bytes;
    if (whole) sample.problem = dataset.check(id, record);
    const SampleViews views = dataset.views(id, record);
    if (sample.problem.empty() && whole) sample.problem = views.problem;
    const auto* leaves = dynamic_cast<const LeavesBehind*>(&dataset);
    if (leaves != nullptr && whole && sample.problem.empty()) left.add(leaves->left_behind(record));
    for (const Part& part : views.parts)
        sample.parts.emplace_back(part.name, whole ? part.bytes.size() : extent.length_bytes);
    sample.label = views.label;
    sample.class_name = views.class_name;
    sample.path = views.original_path;
    return sample;
}

// What a folder of files holds that would be a dataset of another format, were it alone.
std::string packed_among(const Dataset& files) {
    constexpr std::uint64_t kMostLooks = 64;
    const std::uint64_t looks = std::min(files.size(), kMostLooks);
    std::string found;
    for (const Format* format : all_formats()) {
        std::uint64_t count = 0;
        for (SampleId id = 0; id < looks; ++id) {
            Extent extent;
            files.locate(std::span(&id, 1), std::span(&extent, 1));
            if (format->probe(files.path(extent.shard)) == Confidence::yes) ++count;
        }
        if (count > 0) found += fmt::format("{}{} of {}", found.empty() ? "" : ", ", count, format->name());
    }
    if (found.empty()) return found;
    return fmt::format(
        "among the first {} are {}: here each is one sample. To read them as what they are, give each format a "
        "directory of "
        "its own, or name its files by a pattern",
        format_counted(looks, "file"), found);
}

void add_warnings(Description& description) {
    const DatasetInfo& info = description.info;
    for (const Oddity& oddity : info.oddities) description.warnings.push_back(to_text(oddity));
    if (description.damaged > 0) {
        description.warnings.push_back(fmt::format(
            "{} of {} that were looked into are damaged; feedline verify reads all",
            format_count(static_cast<double>(description.damaged)), format_counted(description.looked_into, "sample")));
    }
    if (!description.has_extents) {
        description.warnings.emplace_back(
            "samples lie compressed, converted or scattered in the files, so only the format's own reader has them, "
            "without "
            "the faster engines");
    }
    constexpr double kSmallBytes = 256 << 10;
    constexpr std::uint64_t kMany = 10'000;
    if (!info.packed && description.sizes.mean_bytes < kSmallBytes && info.samples >= kMany) {
        description.warnings.emplace_back("many small files: the slow case on every tier; see feedline pack");
    }
    if (info.packed && !description.has_manifest && info.format != "tfrecord") {
        description.warnings.emplace_back("it has no checksums, so a flipped bit in a sample cannot be found");
    }
}

}  // namespace

Description inspect(const std::shared_ptr<const Dataset>& dataset, std::uint64_t first, std::uint64_t samples) {
    Description description;
    description.info = dataset->info();
    description.has_extents = dataset->has_extents();
    if (description.info.packed) {
        try {
            if (const std::optional<Manifest> manifest = read_manifest(description.info.path)) {
                description.has_manifest = true;
                if (manifest->format != description.info.format) {
                    description.warnings.push_back(
                        fmt::format("its manifest says that it is {}", printable(manifest->format)));
                }
                if (description.info.classes.empty()) description.info.classes = manifest->classes;
            }
        } catch (const Error&) {  // opening the dataset has noted it
        }
    }
    description.sizes = sizes_of(*dataset);
    OneByOne reader(dataset);
    LeftBehindNotes twice;  // the first ones come again
    for (SampleId id = 0; id < std::min(first, dataset->size()); ++id) {
        description.first.push_back(look_into(*dataset, reader, id, twice));
    }
    LeftBehindNotes left;
    description.looked_into = std::min(samples, dataset->size());
    for (std::uint64_t i = 0; i < description.looked_into; ++i) {
        const InspectedSample sample = look_into(*dataset, reader, dataset->size() / description.looked_into * i, left);
        description.with_number += std::holds_alternative<std::int64_t>(sample.label) ? 1 : 0;
        description.with_list += std::holds_alternative<std::vector<std::int64_t>>(sample.label) ? 1 : 0;
        description.with_text += std::holds_alternative<std::string>(sample.label) ? 1 : 0;
        description.damaged += sample.problem.empty() ? 0 : 1;
    }
    add_warnings(description);
    for (std::string& note : left.notes()) description.warnings.push_back(std::move(note));
    if (description.info.packed) return description;
    if (std::string among = packed_among(*dataset); !among.empty()) description.warnings.push_back(std::move(among));
    return description;
}

}  // namespace feedline
