#include "loaders/files/oddity_counter.h"

#include <utility>

namespace feedline {

void OddityCounter::add(std::string_view kind, std::string example, std::uint64_t count) {
    if (count == 0) return;
    const auto found = by_kind_.find(kind);
    if (found == by_kind_.end()) {
        by_kind_.emplace(std::string(kind), Oddity{std::string(kind), count, std::move(example)});
        return;
    }
    found->second.count += count;
    if (example < found->second.example) found->second.example = std::move(example);
}

void OddityCounter::merge(const OddityCounter& other) {
    for (const auto& [kind, oddity] : other.by_kind_) add(kind, oddity.example, oddity.count);
}

std::vector<Oddity> OddityCounter::list() const {
    std::vector<Oddity> all;
    all.reserve(by_kind_.size());
    for (const auto& [kind, oddity] : by_kind_) all.push_back(oddity);
    return all;
}

}  // namespace feedline
