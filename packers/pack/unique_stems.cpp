#include "packers/pack/unique_stems.h"

#include <algorithm>

#include "core/path_suffix.h"
#include "packers/output/digest.h"

namespace feedline {
namespace {

std::string_view stem(std::string_view path) {
    return path.substr(0, path.size() - path_suffix(path).size());
}

}  // namespace

void UniqueStems::add(std::string_view path) {
    const std::string_view without = stem(path);
    hashes_.push_back(digest(path));
    // A path without a suffix is its own stem, and not another's.
    if (without.size() != path.size()) hashes_.push_back(digest(without));
}

void UniqueStems::close() {
    std::sort(hashes_.begin(), hashes_.end());
}

bool UniqueStems::unique(std::string_view path) const {
    const auto [first, last] = std::equal_range(hashes_.begin(), hashes_.end(), digest(stem(path)));
    return last - first == 1;
}

}  // namespace feedline
