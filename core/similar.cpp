#include "core/similar.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace feedline {
namespace {

constexpr std::size_t kMostNames = 3;

// Insertions, deletions, changes and swaps of neighbours that lead from one to the other (optimal string alignment).
std::size_t edits(std::string_view from, std::string_view to) {
    std::vector<std::size_t> above(to.size() + 1);
    std::vector<std::size_t> row(to.size() + 1);
    std::vector<std::size_t> next(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        next[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            next[j + 1] = std::min({row[j] + (from[i] == to[j] ? 0 : 1), next[j] + 1, row[j + 1] + 1});
            const bool swapped = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
            if (swapped) next[j + 1] = std::min(next[j + 1], above[j - 1] + 1);
        }
        std::swap(above, row);
        std::swap(row, next);
    }
    return row.back();
}

// A mistake in so many characters at most is taken for one.
std::size_t most_mistakes(std::string_view wanted) {
    return std::max<std::size_t>(1, wanted.size() / 4);
}

// The fewest mistakes that make `wanted` one of the parts of `name` between dots or dashes.
std::size_t edits_of_a_part(std::string_view wanted, std::string_view name) {
    std::size_t fewest = wanted.size() + name.size();
    while (!name.empty()) {
        const std::size_t end = std::min(name.find_first_of(".-"), name.size());
        fewest = std::min(fewest, edits(wanted, name.substr(0, end)));
        name.remove_prefix(std::min(end + 1, name.size()));
    }
    return fewest;
}

// How far `name` is from what was meant; nullopt: too far.
std::optional<std::size_t> distance(std::string_view wanted, std::string_view name) {
    constexpr std::size_t kLongestName = 100;  // beyond it nobody meant a name, and the table would be large
    if (wanted.empty() || wanted.size() > kLongestName) return std::nullopt;
    const std::size_t whole = edits(wanted, name);
    if (whole <= most_mistakes(wanted)) return whole;
    // "read.p99" of "latency_ns.read.p99".
    constexpr std::size_t kPartCosts = 3;
    if (name.ends_with(wanted) && name[name.size() - wanted.size() - 1] == '.') return kPartCosts;
    const std::size_t part = edits_of_a_part(wanted, name);
    if (part <= most_mistakes(wanted)) return kPartCosts + part;
    return std::nullopt;
}

}  // namespace

std::vector<std::string> similar_names(std::string_view wanted, const std::vector<std::string>& known) {
    std::vector<std::pair<std::size_t, const std::string*>> near;
    for (const std::string& name : known) {
        if (const auto far = distance(wanted, name)) near.emplace_back(*far, &name);
    }
    std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(kMostNames, near.size()); ++i) names.push_back(*near[i].second);
    return names;
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known) {
    const std::vector<std::string> names = similar_names(wanted, known);
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += i == 0 ? "; did you mean " : i + 1 == names.size() ? " or " : ", ";
        text += names[i];
    }
    return text.empty() ? text : text + "?";
}

}  // namespace feedline
