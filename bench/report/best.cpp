#include "bench/report/best.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/units.h"

namespace feedline {
namespace {

// Samples a second of each repetition, the slowest first.
std::vector<double> rates_of(const Result& result) {
    std::vector<double> rates;
    for (const std::vector<EpochResult>& round : result.rounds) {
        if (!round.empty()) rates.push_back(round.back().samples_per_second());
    }
    std::sort(rates.begin(), rates.end());
    return rates;
}

// Of its repetitions the middle one.
double typical_rate(const Result& result) {
    const std::vector<double> rates = rates_of(result);
    const std::size_t half = rates.size() / 2;
    return rates.size() % 2 == 1 ? rates[half] : (rates[half - 1] + rates[half]) / 2;
}

// How much of it a run read from the storage itself, by its verdict; the most first.
enum class FromStorage { all, part, none, untold };

FromStorage from_storage(const Result& result) {
    const std::string& verdict = result.last_epoch()->cache.verdict;
    if (verdict == "cold") return FromStorage::all;
    if (verdict == "mixed") return FromStorage::part;
    return verdict == "warm" ? FromStorage::none : FromStorage::untold;
}

constexpr std::string_view kHowSure = " (one round; --rounds 3 or more tells how sure)";

// Of results that can be compared, fastest first, at least two.
std::string best_of(const std::string& where, const std::vector<const Result*>& results) {
    const Result& best = *results[0];
    const Result& next = *results[1];
    const double rate = typical_rate(best);
    std::string text = fmt::format("best {}: {}, {} samples/s{}", where, best.engine, format_per_second(rate),
                                   best.rounds.size() > 1 ? " (median of its rounds)" : "");
    const double more = typical_rate(next) > 0 ? rate / typical_rate(next) - 1 : 0;
    constexpr double kCanBeTold = 0.02;
    if (more < kCanBeTold) {
        return fmt::format("{}, but {} is within {}, too close to call", text, next.engine,
                           format_percent(std::max(more, 0.0)));
    }
    text += fmt::format(", {} more than {}", format_percent(more), next.engine);
    const std::vector<double> of_best = rates_of(best);
    const std::vector<double> of_next = rates_of(next);
    // One run does not know how far another would be from it.
    if (of_best.size() < 2 || of_next.size() < 2) return text.append(kHowSure);
    if (of_best.front() <= of_next.back()) return text + ", but their rounds overlap: too close to call";
    return text;
}

// What each reached in the state of the cache that it met.
std::string each_under_its_cache(const std::string& tier, const std::vector<const Result*>& results) {
    std::string text;
    for (const Result* result : results) {
        text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", result->engine,
                            format_per_second(typical_rate(*result)), result->last_epoch()->cache.verdict);
    }
    return fmt::format(
        "best on {}: cannot be told, for the cache was not the same for all: {}; use --cache cold or --cache warm",
        printable(tier), text);
}

std::string best_line(const std::string& tier, std::vector<const Result*> results) {
    std::stable_sort(results.begin(), results.end(),
                     [](const Result* a, const Result* b) { return typical_rate(*a) > typical_rate(*b); });
    std::set<FromStorage> states;
    for (const Result* result : results) states.insert(from_storage(*result));
    const std::string where = "on " + printable(tier);
    if (states.size() == 1) {
        const std::string doubt = states.contains(FromStorage::part) ? ", though each was in part from memory" : "";
        return best_of(where, results) + doubt;
    }
    // Who read more from storage than all others and yet was faster is best whatever memory gave them.
    if (states.contains(FromStorage::untold) || *states.begin() != from_storage(*results[0])) {
        return each_under_its_cache(tier, results);
    }
    return best_of(where, results) + ", though not all others read as much from storage";
}

}  // namespace

std::vector<std::string> best_lines(const std::vector<Result>& results) {
    std::vector<std::pair<std::string, std::vector<const Result*>>> tiers;  // in the order they were measured
    for (const Result& result : results) {
        if (result.status != RunStatus::ok || result.last_epoch() == nullptr) continue;
        if (result.last_epoch()->lacks_samples()) continue;
        auto tier =
            std::find_if(tiers.begin(), tiers.end(), [&](const auto& t) { return t.first == result.tier_name; });
        if (tier == tiers.end()) tier = tiers.insert(tiers.end(), {result.tier_name, {}});
        tier->second.push_back(&result);
    }
    std::vector<std::string> lines;
    for (const auto& [name, of_tier] : tiers) {
        if (of_tier.size() > 1) lines.push_back(best_line(name, of_tier));
    }
    // It is the same for all: once is enough.
    bool said = false;
    for (std::string& line : lines) {
        const std::size_t at = line.find(kHowSure);
        if (at == std::string::npos) continue;
        if (said) line.erase(at, kHowSure.size());
        said = true;
    }
    return lines;
}

}  // namespace feedline
