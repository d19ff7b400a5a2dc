#include "packers/generate/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace feedline {

DatasetLayout::DatasetLayout(std::uint64_t samples, std::uint64_t classes, std::string_view suffix)
    : samples_(samples), classes_(classes), suffix_(suffix) {
    if (samples == 0) throw Error(ErrorKind::usage, "a dataset needs samples").advise("Give --samples at least 1");
    if (classes == 0) throw Error(ErrorKind::usage, "a dataset needs classes").advise("Give --classes at least 1");
    if (classes > samples) {
        throw Error(ErrorKind::usage, fmt::format("{} classes need at least as many samples, not {}", classes, samples))
            .advise(fmt::format("Give --classes at most {}", samples));
    }
}

std::uint64_t DatasetLayout::first_sample(std::uint64_t class_number) const {
    return class_number * (samples_ / classes_) + std::min(class_number, samples_ % classes_);
}

// The widths are minima: larger numbers get wider names, and then no longer sort as numbers against narrower ones; so
// both widths follow the largest number there is.
std::string DatasetLayout::class_name(std::uint64_t class_number) const {
    const std::size_t width = std::max<std::size_t>(5, fmt::formatted_size("{}", classes_ - 1));
    return fmt::format("class_{:0{}}", class_number, width);
}

std::string DatasetLayout::file_name(std::uint64_t class_number, std::uint64_t number) const {
    const std::size_t width = std::max<std::size_t>(7, fmt::formatted_size("{}", largest_class_samples() - 1));
    return fmt::format("{}_{:0{}}{}", class_name(class_number), number, width, suffix_);
}

}  // namespace feedline
