#include "loaders/hdf5/shard_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/units.h"
#include "loaders/hdf5/columns.h"
#include "loaders/hdf5/plain_rows.h"

namespace feedline::hdf5 {
namespace {

Error damaged(const File& file, const std::string& what) {
    return Error(ErrorKind::corrupt, what).at(file.path);
}

// Of a dataset that must be read by the library, and cannot be where a filter is missing.
void require_readable(const File& file, const DatasetDescription& column) {
    const std::string missing = column.missing_filter();
    if (missing.empty()) return;
    const std::string_view package = column.missing_package();
    throw Error(ErrorKind::usage, fmt::format("dataset {} is compressed with {}", printable(column.name), missing))
        .at(file.path)
        .advise(fmt::format("Install its plugin{} or name its directory in HDF5_PLUGIN_PATH",
                            package.empty() ? "" : fmt::format(" (Debian: {})", package)));
}

// Numbers that must be a list of `entries` offsets into `bytes` bytes.
std::vector<std::uint64_t> read_offsets(const File& file, const std::string& name, std::uint64_t bytes) {
    const std::optional<std::vector<std::int64_t>> numbers = read_integers(file, describe(file, name));
    if (!numbers || numbers->empty()) throw damaged(file, fmt::format("{} holds no offsets", printable(name)));
    std::vector<std::uint64_t> offsets(numbers->begin(), numbers->end());
    if (numbers->front() < 0 || !std::is_sorted(numbers->begin(), numbers->end())) {
        throw damaged(file, fmt::format("{} does not ascend", printable(name)));
    }
    if (offsets.back() > bytes) {
        throw damaged(file, fmt::format("{} reaches to byte {} of {}", printable(name), offsets.back(), bytes));
    }
    return offsets;
}

void scan_packed(const File& file, ScannedShard& shard) {
    const DatasetDescription& data = shard.selection.columns.front();
    check_size(file, data);
    std::vector<std::uint64_t> offsets = read_offsets(file, shard.selection.offsets, data.rows());
    shard.samples = offsets.size() - 1;
    {
        const Id dataset = open_dataset(file, data.name);
        PlainRows run = plain_run(file, dataset.get(), data);
        shard.obstacle = std::move(run.obstacle);
        if (shard.obstacle.empty()) shard.begin_bytes = run.offsets.front();
    }
    if (!shard.obstacle.empty()) require_readable(file, data);
    shard.lengths.resize(shard.samples);
    for (std::size_t i = 0; i < shard.lengths.size(); ++i) {
        shard.lengths[i] = offsets[i + 1] - offsets[i];
        offsets[i] += shard.begin_bytes;
    }
    offsets.pop_back();
    shard.offsets = std::move(offsets);
}

void scan_variable(const File& file, ScannedShard& shard) {
    const DatasetDescription& column = shard.selection.columns.front();
    shard.obstacle = "of variable length";
    shard.lengths = read_lengths(file, column);
    require_readable(file, column);
    std::uint64_t begin = 0;
    for (const std::uint64_t length : shard.lengths) {
        shard.offsets.push_back(begin);
        begin += length;
    }
}

void scan_rows(const File& file, ScannedShard& shard) {
    for (const DatasetDescription& column : shard.selection.columns) {
        check_size(file, column);
        shard.part_bytes.push_back(column.row_bytes().value_or(0));
        shard.row_bytes += shard.part_bytes.back();
    }
    const DatasetDescription& first = shard.selection.columns.front();
    shard.samples = first.rows();
    if (first.variable()) {
        scan_variable(file, shard);
        return;
    }
    if (shard.selection.columns.size() > 1) {
        shard.obstacle = fmt::format("each in {} datasets", shard.selection.columns.size());
    } else {
        const Id dataset = open_dataset(file, first.name);
        PlainRows plain = plain_rows(file, dataset.get(), first);
        shard.obstacle = std::move(plain.obstacle);
        if (shard.obstacle.empty()) shard.offsets = std::move(plain.offsets);
    }
    if (shard.obstacle.empty()) return;
    for (const DatasetDescription& column : shard.selection.columns) require_readable(file, column);
}

void scan_classes(const File& file, ScannedShard& shard) {
    for (const std::string& place : {shard.selection.labels, std::string("/")}) {
        std::vector<std::string> names = read_text_attribute(file, place, "class_names");
        if (names.empty()) continue;
        const std::vector<std::int64_t> labels = read_integer_attribute(file, place, "class_labels");
        if (!labels.empty() && labels.size() != names.size()) {
            throw damaged(file, fmt::format("{} names of classes and {} labels of them", names.size(), labels.size()));
        }
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::int64_t label = labels.empty() ? static_cast<std::int64_t>(i) : labels[i];
            shard.classes.push_back({std::move(names[i]), label, 0});
        }
        return;
    }
}

void scan_labels(const File& file, ScannedShard& shard) {
    const std::string& name = shard.selection.labels;
    if (name.empty()) {
        if (shard.selection.unused_labels.empty()) return;
        shard.oddities.push_back(
            {"dataset that looks like labels and holds no integer for each sample, so that "
             "samples have none",
             1, describe(file, shard.selection.unused_labels).line()});
        return;
    }
    const DatasetDescription labels = describe(file, name);
    if (labels.rows() != shard.samples) {
        const std::string what = fmt::format("{} has {}, for {}", printable(name), format_counted(labels.rows(), "row"),
                                             format_counted(shard.samples, "sample"));
        if (shard.selection.kind == Selection::Kind::packed) throw damaged(file, what);
        shard.oddities.push_back({"list of labels that does not fit", 1, what});
        return;
    }
    std::optional<std::vector<std::int64_t>> numbers = read_integers(file, labels);
    if (!numbers) {
        shard.oddities.push_back({"list of labels that are no whole numbers", 1, name});
        return;
    }
    shard.labels = std::move(*numbers);
    shard.labels_a_sample = labels.row_elements().value_or(0);
    scan_classes(file, shard);
}

void scan_keys(const File& file, ScannedShard& shard) {
    if (shard.selection.keys.empty()) return;
    // Room for what compresses well, and a bound for what only pretends.
    constexpr std::uint64_t kMostKeyBytes = 1U << 20U;
    std::uint64_t left = 16 * file.size_bytes + kMostKeyBytes;
    const DatasetDescription keys = describe(file, shard.selection.keys);
    const auto take = [&](std::string_view key) {
        if (key.size() > left) throw damaged(file, "the keys take more than their file can hold");
        left -= key.size();
        shard.keys.add(key);
    };
    if (!shard.selection.key_offsets.empty()) {
        check_size(file, keys);
        const std::vector<std::uint64_t> offsets = read_offsets(file, shard.selection.key_offsets, keys.rows());
        if (offsets.back() > left) throw damaged(file, "the keys take more than their file can hold");
        const std::string bytes = read_run(file, keys, offsets.front(), offsets.back());
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
            take(std::string_view(bytes).substr(offsets[i] - offsets.front(), offsets[i + 1] - offsets[i]));
        }
    } else if (!for_each_text(file, keys, take)) {
        shard.oddities.push_back({"list of keys that are no texts", 1, shard.selection.keys});
        return;
    }
    if (shard.keys.size() != shard.samples) {
        throw damaged(file, fmt::format("{} for {}", format_counted(shard.keys.size(), "key"),
                                        format_counted(shard.samples, "sample")));
    }
}

}  // namespace

ScannedShard scan_shard(const std::string& path, const std::string& wanted) {
    const LibraryLock lock;
    const File file = open_file(path);
    ScannedShard shard;
    shard.selection = select(path, list_datasets(file), wanted);
    if (shard.selection.kind == Selection::Kind::packed) {
        scan_packed(file, shard);
    } else {
        scan_rows(file, shard);
    }
    scan_labels(file, shard);
    scan_keys(file, shard);
    if (!shard.selection.passed_over.empty()) {
        shard.oddities.push_back({"dataset that is no part of the samples", shard.selection.passed_over.size(),
                                  shard.selection.passed_over.front()});
    }
    return shard;
}

}  // namespace feedline::hdf5
