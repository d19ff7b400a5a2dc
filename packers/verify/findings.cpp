#include "packers/verify/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace feedline {
namespace {

// A dataset of which all is damaged must not take all memory.
constexpr std::size_t kMost = 1000;

}  // namespace

std::string to_text(const Finding& finding) {
    std::string text = finding.what;
    if (!finding.path.empty()) text += ": " + printable(finding.path);
    if (finding.offset_bytes) text += fmt::format(" at offset {}", *finding.offset_bytes);
    if (!finding.sample.empty()) text += ", sample " + printable(finding.sample);
    return text;
}

void Findings::add(Finding finding) {
    const std::lock_guard lock(mutex_);
    ++count_;
    if (findings_.size() < kMost) findings_.push_back(std::move(finding));
}

std::uint64_t Findings::count() const {
    const std::lock_guard lock(mutex_);
    return count_;
}

std::vector<Finding> Findings::list() const {
    const std::lock_guard lock(mutex_);
    std::vector<Finding> sorted = findings_;
    std::sort(sorted.begin(), sorted.end(), [](const Finding& a, const Finding& b) {
        return std::tie(a.path, a.offset_bytes, a.sample, a.what) < std::tie(b.path, b.offset_bytes, b.sample, b.what);
    });
    return sorted;
}

}  // namespace feedline
