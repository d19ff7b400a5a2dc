#include "bench/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "bench/options.h"
#include "core/error.h"
#include "core/units.h"

namespace feedline {
namespace {

std::optional<double> number(std::string_view text) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || rest != end || !std::isfinite(value)) return std::nullopt;
    return value;
}

// As the option's type says, of which config_json() makes seconds and bytes a second.
Quantity quantity_of_option(std::string_view json_name) {
    Quantity found = Quantity::number;
    const BenchOptions options;
    visit_options(options, [&](const OptionInfo& info, const auto& member) {
        using Member = std::remove_cvref_t<decltype(member)>;
        std::string name(info.name);
        std::replace(name.begin(), name.end(), '-', '_');
        if (name != json_name) return;
        if constexpr (std::is_same_v<Member, Nanoseconds> || std::is_same_v<Member, std::optional<Nanoseconds>>) {
            found = Quantity::seconds;
        } else if constexpr (std::is_same_v<Member, double>) {
            found = Quantity::bytes_per_second;
        }
    });
    return found;
}

std::optional<double> with_unit(Quantity quantity, std::string_view text) {
    try {
        switch (quantity) {
            case Quantity::nanoseconds: return static_cast<double>(parse_time(text));
            case Quantity::seconds: return to_seconds(parse_time(text));
            case Quantity::bytes: return static_cast<double>(parse_size(text));
            case Quantity::bytes_per_second: return parse_rate(text);
            case Quantity::number:
            case Quantity::share: break;
        }
    } catch (const Error&) {
        return std::nullopt;
    }
    return std::nullopt;
}

std::string as_people_read_it(Quantity quantity, double value) {
    constexpr double kSecond = kNanosecondsPerSecond;
    switch (quantity) {
        case Quantity::number: break;
        case Quantity::share: return format_percent(value);
        case Quantity::nanoseconds: return format_time(std::llround(value));
        case Quantity::seconds: return format_time(std::llround(value * kSecond));
        case Quantity::bytes: return format_size(value);
        case Quantity::bytes_per_second: return format_rate(value);
    }
    return {};
}

}  // namespace

Quantity quantity_of(std::string_view path) {
    constexpr std::string_view kConfig = "config.";
    if (path.starts_with(kConfig)) return quantity_of_option(path.substr(kConfig.size()));
    const std::size_t dot = path.rfind('.');
    const std::string_view leaf = dot == std::string_view::npos ? path : path.substr(dot + 1);
    const std::string_view above = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
    if (path.starts_with("latency_ns.")) return Quantity::nanoseconds;
    if (leaf.ends_with("fraction") || path.find("utilization") != std::string_view::npos || leaf == "drift" ||
        leaf == "resident_before") {
        return Quantity::share;
    }
    if (leaf.ends_with("seconds") || above.ends_with("by_cause")) return Quantity::seconds;
    if (leaf == "bytes_per_second") return Quantity::bytes_per_second;
    if (leaf.ends_with("bytes")) return Quantity::bytes;
    return Quantity::number;
}

std::optional<double> parse_quantity(Quantity quantity, std::string_view text) {
    if (const std::optional<double> plain = number(text)) return plain;
    if (quantity != Quantity::share) return with_unit(quantity, text);
    if (!text.ends_with('%')) return std::nullopt;
    text.remove_suffix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    const std::optional<double> percent = number(text);
    return percent ? std::optional(*percent / 100) : std::nullopt;
}

std::string_view how_to_write(Quantity quantity) {
    switch (quantity) {
        case Quantity::number: return "a plain number";
        case Quantity::share: return "a share such as 5% or 0.05";
        case Quantity::nanoseconds: return "a time such as 5ms, or a number of nanoseconds";
        case Quantity::seconds: return "a time such as 90s, or a number of seconds";
        case Quantity::bytes: return "a size such as 64KiB, or a number of bytes";
        case Quantity::bytes_per_second: return "a rate such as 1GB/s, or a number of bytes a second";
    }
    return "a plain number";
}

std::string show_quantity(Quantity quantity, double value) {
    const std::string text = fmt::format("{:.6g}", value);
    const std::string readable = as_people_read_it(quantity, value);
    return readable.empty() ? text : fmt::format("{} ({})", text, readable);
}

}  // namespace feedline
