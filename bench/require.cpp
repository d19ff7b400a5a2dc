#include "bench/require.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "bench/options.h"
#include "core/error.h"

namespace feedline {
namespace {

using Json = nlohmann::ordered_json;
using Comparison = Requirement::Comparison;

struct Operator {
    std::string_view text;
    Comparison comparison;
};
// Longer ones first, so that <= is not taken for <.
constexpr std::array kOperators{
    Operator{"<=", Comparison::less_equal}, Operator{">=", Comparison::greater_equal},
    Operator{"==", Comparison::equal},      Operator{"<", Comparison::less},
    Operator{">", Comparison::greater},
};

std::string_view to_string(Comparison comparison) {
    const auto found = std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](const Operator& entry) { return entry.comparison == comparison; });
    return found->text;
}

std::string_view trim(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

std::optional<double> number(std::string_view text) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || rest != end || !std::isfinite(value)) return std::nullopt;
    return value;
}

// The value at a dotted path; nullptr when there is none.
const Json* find(const Json& json, std::string_view path) {
    const Json* at = &json;
    while (true) {
        const std::size_t dot = path.find('.');
        if (!at->is_object()) return nullptr;
        const auto next = at->find(std::string(path.substr(0, dot)));
        if (next == at->end()) return nullptr;
        at = &*next;
        if (dot == std::string_view::npos) return at;
        path.remove_prefix(dot + 1);
    }
}

bool is_leaf(const Json* json) {
    return json != nullptr && !json->is_object() && !json->is_array();
}

// A result in which every figure of the schema is there.
Result complete_result() {
    Result result;
    result.config = config_json(BenchOptions{});
    result.rounds = {{EpochResult{}}};
    const ControlFigures control{0.0, 0.0, {}};
    result.controls = {control, control, control, control, control};
    return result;
}

bool compare(Comparison comparison, double left, double right) {
    switch (comparison) {
        case Comparison::less_equal: return left <= right;
        case Comparison::greater_equal: return left >= right;
        case Comparison::less: return left < right;
        case Comparison::greater: return left > right;
        case Comparison::equal: return left == right;
    }
    return false;
}

// Empty: it holds. Otherwise what it is instead.
std::string judge(const Requirement& requirement, const Json& figure) {
    if (figure.is_null()) return "could not be seen";
    if (figure.is_string()) {
        const std::string text = figure.get<std::string>();
        return text == requirement.value ? "" : "is " + text;
    }
    const double left = figure.is_boolean() ? (figure.get<bool>() ? 1 : 0) : figure.get<double>();
    const std::optional<double> right = figure.is_boolean() && requirement.value == "true" ? 1.0
                                        : figure.is_boolean() && requirement.value == "false"
                                            ? 0.0
                                            : number(requirement.value);
    if (!right) return fmt::format("is {}, which is no word", left);
    if (compare(requirement.comparison, left, *right)) return {};
    return fmt::format("is {:.6g}, off by {:.3g}", left, std::fabs(left - *right));
}

}  // namespace

Requirement parse_requirement(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        return Error(ErrorKind::usage, fmt::format("--require '{}': {}", printable(text), why));
    };
    Requirement requirement;
    requirement.text = text;
    std::size_t at = std::string_view::npos;
    std::string_view symbol;
    for (const Operator& entry : kOperators) {
        const std::size_t found = text.find(entry.text);
        if (found == std::string_view::npos || found >= at) continue;
        at = found;
        symbol = entry.text;
        requirement.comparison = entry.comparison;
    }
    if (at == std::string_view::npos) throw refuse("needs a comparison, as in 'idle.fraction<=0.05'");
    requirement.path = trim(text.substr(0, at));
    requirement.value = trim(text.substr(at + symbol.size()));

    static const Json schema = to_json(complete_result());
    const Json* figure = find(schema["epochs"][0], requirement.path);
    if (!is_leaf(figure)) figure = find(schema, requirement.path);
    if (!is_leaf(figure)) {
        throw refuse(
            fmt::format("a result has no figure '{}'; try idle.fraction, samples_per_second or "
                        "controls.warm.utilization",
                        printable(requirement.path)));
    }
    const bool truth = figure->is_boolean() && (requirement.value == "true" || requirement.value == "false");
    if (figure->is_string() || truth) {
        if (requirement.comparison != Comparison::equal) throw refuse("a word can only be compared with ==");
        if (requirement.value.empty()) throw refuse("nothing to compare with");
    } else if (!number(requirement.value) && !(figure->is_null() && requirement.comparison == Comparison::equal)) {
        throw refuse(fmt::format("'{}' is not a number", printable(requirement.value)));
    }
    return requirement;
}

std::vector<std::string> missed(const Requirement& requirement, const std::vector<Result>& results) {
    std::vector<std::string> lines;
    const auto check = [&](const Json& json, const std::string& where) {
        const Json* figure = find(json, requirement.path);
        if (!is_leaf(figure)) return false;
        const std::string miss = judge(requirement, *figure);
        if (!miss.empty()) {
            lines.push_back(fmt::format("{}: {} {}, required {} {}", where, requirement.path, miss,
                                        to_string(requirement.comparison), requirement.value));
        }
        return true;
    };
    for (const Result& result : results) {
        bool in_epochs = false;
        for (std::size_t r = 0; r < result.rounds.size(); ++r) {
            for (std::size_t e = 0; e < result.rounds[r].size(); ++e) {
                std::string where = result.name;
                if (result.rounds.size() > 1) where += fmt::format(", round {}", r + 1);
                if (result.rounds[r].size() > 1) where += fmt::format(", epoch {}", e + 1);
                in_epochs |= check(to_json(result.rounds[r][e]), where);
            }
        }
        if (in_epochs) continue;
        if (!check(to_json(result), result.name)) {
            lines.push_back(fmt::format("{}: {} was not measured, required {} {}", result.name, requirement.path,
                                        to_string(requirement.comparison), requirement.value));
        }
    }
    return lines;
}

}  // namespace feedline
