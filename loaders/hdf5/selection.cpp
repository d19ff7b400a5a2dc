#include "loaders/hdf5/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/units.h"

namespace feedline::hdf5 {
namespace {

const DatasetDescription* find(const Contents& contents, std::string_view name) {
    const auto found = std::find_if(contents.datasets.begin(), contents.datasets.end(),
                                    [&](const DatasetDescription& d) { return d.name == name; });
    return found == contents.datasets.end() ? nullptr : &*found;
}

bool is_number_class(H5T_class_t type_class) {
    return type_class == H5T_INTEGER || type_class == H5T_FLOAT;
}

std::string_view last_component(std::string_view name) {
    return name.substr(name.rfind('/') + 1);
}

bool all_digits(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// `labels` (DLIO and most), `label`, `label2` (Caffe's HDF5 layers have one a network's top), `targets`, `target`.
bool is_label_name(std::string_view name) {
    constexpr std::string_view kLabel = "label";
    const std::string_view last = last_component(name);
    if (last == "labels" || last == "targets" || last == "target") return true;
    return last.starts_with(kLabel) && all_digits(last.substr(kLabel.size()));
}

// Numbers, few of them a row: labels could be that, samples hardly.
bool may_be_labels(const DatasetDescription& dataset) {
    constexpr std::uint64_t kMostALabel = 1024;
    const bool readable = dataset.element == Element::plain || dataset.element == Element::big_endian;
    return is_label_name(dataset.name) && readable && is_number_class(dataset.type_class) && !dataset.dims.empty() &&
           dataset.row_elements().value_or(kMostALabel + 1) <= kMostALabel;
}

bool may_be_samples(const DatasetDescription& dataset) {
    return dataset.refusal().empty() && !dataset.dims.empty() && !may_be_labels(dataset);
}

// The labels beside `name`: in the same group.
std::string labels_beside(const Contents& contents, std::string_view name) {
    const std::string_view group = name.substr(0, name.rfind('/') + 1);
    std::string found;
    for (const DatasetDescription& dataset : contents.datasets) {
        const std::string_view other = dataset.name;
        if (other.substr(0, other.rfind('/') + 1) != group || other == name || !may_be_labels(dataset)) continue;
        // By the usual name, else the first.
        if (found.empty() || last_component(other) == "labels") found = other;
    }
    return found;
}

// The name that goes with `samples` where labels are named by what they are of: y_train of x_train, train_labels of
// train_images. Empty: none.
std::string name_of_pair(std::string_view samples) {
    const std::size_t at = samples.rfind('/') + 1;
    std::string last(samples.substr(at));
    constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kInside = {
        {{"images", "labels"}, {"image", "label"}}};
    if (last == "x" || last == "X" || last.starts_with("x_") || last.starts_with("X_")) {
        last.front() = last.front() == 'x' ? 'y' : 'Y';
        return std::string(samples.substr(0, at)) + last;
    }
    for (const auto& [image, label] : kInside) {
        const std::size_t found = last.find(image);
        if (found == std::string::npos) continue;
        return std::string(samples.substr(0, at)) + last.replace(found, image.size(), label);
    }
    return {};
}

// X_train is often beside y_train.
const DatasetDescription* pair_of(const Contents& contents, std::string_view samples) {
    std::string name = name_of_pair(samples);
    if (name.empty()) return nullptr;
    const DatasetDescription* found = find(contents, name);
    char& first = name[name.rfind('/') + 1];
    if (found != nullptr || first != 'Y') return found;
    first = 'y';
    return find(contents, name);
}

bool is_integer_a_row(const DatasetDescription& dataset, std::uint64_t rows) {
    const bool readable = dataset.element == Element::plain || dataset.element == Element::big_endian;
    return readable && dataset.type_class == H5T_INTEGER && dataset.dims.size() == 1 && dataset.rows() == rows;
}

// What a person would take for the labels of `samples`, and is not used as such. By its name alone.
std::string like_labels(const Contents& contents, std::string_view samples) {
    if (const DatasetDescription* pair = pair_of(contents, samples)) return pair->name;
    const std::string_view group = samples.substr(0, samples.rfind('/') + 1);
    for (const DatasetDescription& dataset : contents.datasets) {
        const std::string_view other = dataset.name;
        if (other == samples || other.substr(0, other.rfind('/') + 1) != group) continue;
        const std::string_view last = last_component(other);
        if (is_label_name(last) || last.find("label") != std::string_view::npos) return dataset.name;
    }
    return {};
}

// records_0, records_1, ...: DLIO with several datasets a record. In the order of numbers.
std::vector<DatasetDescription> numbered_records(const Contents& contents) {
    std::vector<DatasetDescription> records;
    for (std::size_t i = 0;; ++i) {
        const DatasetDescription* dataset = find(contents, fmt::format("/records_{}", i));
        if (dataset == nullptr) return records;
        records.push_back(*dataset);
    }
}

bool is_run_of_bytes(const DatasetDescription* dataset) {
    return dataset != nullptr && dataset->element == Element::plain && dataset->element_bytes == 1 &&
           dataset->dims.size() == 1;
}

bool is_list_of_integers(const DatasetDescription* dataset) {
    return dataset != nullptr && dataset->type_class == H5T_INTEGER && dataset->dims.size() == 1;
}

bool is_packed(const Contents& contents) {
    return is_run_of_bytes(find(contents, "/data")) && is_list_of_integers(find(contents, "/offsets"));
}

std::string list(const std::vector<const DatasetDescription*>& datasets) {
    constexpr std::size_t kShown = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, datasets.size()); ++i) {
        text += (i == 0 ? "" : "; ") + datasets[i]->line();
    }
    if (datasets.size() > kShown) text += fmt::format("; and {} more", datasets.size() - kShown);
    return text;
}

// All that there is.
std::string inventory(const Contents& contents) {
    std::vector<const DatasetDescription*> all;
    for (const DatasetDescription& dataset : contents.datasets) all.push_back(&dataset);
    std::string text = all.empty() ? "It holds none" : "It holds " + list(all);
    if (!contents.external_links.empty()) {
        text += fmt::format("; {} leads to another file, which is not followed",
                            printable(contents.external_links.front()));
    }
    return text;
}

Error refuse(const std::string& path, const DatasetDescription& dataset) {
    std::string what = fmt::format("dataset {} cannot be read: {}", printable(dataset.name), dataset.refusal());
    const std::string missing = dataset.missing_filter();
    if (!missing.empty()) what += ", and it is compressed with " + missing;
    return Error(ErrorKind::usage, what).at(path);
}

bool leads_out(const Contents& contents, const std::string& name) {
    return std::any_of(contents.external_links.begin(), contents.external_links.end(), [&](const std::string& link) {
        return name == link || (name.starts_with(link) && name[link.size()] == '/');
    });
}

const DatasetDescription& named(const std::string& path, const Contents& contents, const std::string& wanted) {
    const std::string name = wanted.starts_with('/') ? wanted : "/" + wanted;
    const DatasetDescription* dataset = find(contents, name);
    if (dataset == nullptr) {
        std::string what = fmt::format("no dataset {} in this HDF5 file", printable(name));
        if (leads_out(contents, name)) what += ": that is a link to another file, which is not followed";
        if (std::find(contents.soft_links.begin(), contents.soft_links.end(), name) != contents.soft_links.end()) {
            what += ": that is a symbolic link";
        }
        throw Error(ErrorKind::usage, what).at(path).advise(inventory(contents));
    }
    if (!dataset->refusal().empty()) throw refuse(path, *dataset);
    return *dataset;
}

void note_passed_over(const Contents& contents, Selection& selection) {
    for (const DatasetDescription& dataset : contents.datasets) {
        const bool column = std::any_of(selection.columns.begin(), selection.columns.end(),
                                        [&](const DatasetDescription& c) { return c.name == dataset.name; });
        const std::string& name = dataset.name;
        if (column || name == selection.labels || name == selection.offsets || name == selection.keys ||
            name == selection.key_offsets) {
            continue;
        }
        selection.passed_over.push_back(name);
    }
}

Selection select_packed(const Contents& contents) {
    Selection selection;
    selection.kind = Selection::Kind::packed;
    selection.columns = {*find(contents, "/data")};
    selection.offsets = "/offsets";
    if (is_list_of_integers(find(contents, "/labels"))) selection.labels = "/labels";
    if (find(contents, "/keys") != nullptr) selection.keys = "/keys";
    if (is_run_of_bytes(find(contents, "/keys")) && is_list_of_integers(find(contents, "/key_offsets"))) {
        selection.key_offsets = "/key_offsets";
    }
    return selection;
}

Selection with_labels(const Contents& contents, std::vector<DatasetDescription> columns) {
    Selection selection;
    const DatasetDescription& samples = columns.front();
    selection.labels = labels_beside(contents, samples.name);
    const DatasetDescription* pair = selection.labels.empty() ? pair_of(contents, samples.name) : nullptr;
    if (pair != nullptr && is_integer_a_row(*pair, samples.rows())) selection.labels = pair->name;
    if (selection.labels.empty()) selection.unused_labels = like_labels(contents, samples.name);
    selection.columns = std::move(columns);
    return selection;
}

Selection find_layout(const std::string& path, const Contents& contents) {
    if (is_packed(contents)) return select_packed(contents);
    const DatasetDescription* images = find(contents, "/images");
    if (images != nullptr && may_be_samples(*images) && !labels_beside(contents, images->name).empty()) {
        return with_labels(contents, {*images});
    }
    const DatasetDescription* records = find(contents, "/records");
    if (records != nullptr && may_be_samples(*records)) return with_labels(contents, {*records});
    std::vector<DatasetDescription> parts = numbered_records(contents);
    const bool fit = std::all_of(parts.begin(), parts.end(), [&](const DatasetDescription& part) {
        return may_be_samples(part) && !part.variable() && part.rows() == parts.front().rows();
    });
    if (!parts.empty() && fit) return with_labels(contents, std::move(parts));

    std::vector<const DatasetDescription*> samples;
    for (const DatasetDescription& dataset : contents.datasets) {
        if (may_be_samples(dataset)) samples.push_back(&dataset);
    }
    if (samples.size() == 1) return with_labels(contents, {*samples.front()});
    if (samples.empty() && contents.datasets.size() == 1 && !contents.datasets.front().refusal().empty()) {
        throw refuse(path, contents.datasets.front());
    }
    if (samples.empty()) {
        throw Error(ErrorKind::usage, contents.datasets.empty() ? "no dataset in this HDF5 file"
                                                                : "no dataset with samples in this HDF5 file")
            .at(path)
            .advise(inventory(contents));
    }
    throw Error(ErrorKind::usage,
                fmt::format("{} of this HDF5 file could hold the samples", format_counted(samples.size(), "dataset")))
        .at(path)
        .advise("Choose one with --hdf5-dataset: " + list(samples));
}

}  // namespace

std::string Selection::words() const {
    const DatasetDescription& first = columns.front();
    std::string text = printable(std::string_view(first.name).substr(1));
    if (columns.size() > 1) text += fmt::format(" to {}", printable(std::string_view(columns.back().name).substr(1)));
    if (kind == Kind::packed) {
        text += " by offsets";
    } else if (columns.size() == 1) {
        text += " " + first.type;
        if (first.dims.size() > 1)
            text += fmt::format(" [{}]", fmt::join(first.dims.begin() + 1, first.dims.end(), ","));
    }
    if (!labels.empty()) text += fmt::format(" with {}", printable(std::string_view(labels).substr(1)));
    return text;
}

Selection select(const std::string& path, const Contents& contents, const std::string& wanted) {
    Selection selection =
        wanted.empty() ? find_layout(path, contents) : with_labels(contents, {named(path, contents, wanted)});
    note_passed_over(contents, selection);
    return selection;
}

}  // namespace feedline::hdf5
