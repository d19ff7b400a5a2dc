#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "core/error.h"

namespace feedline {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array kSizeUnits{
    Unit{"", 1},      Unit{"B", 1},      Unit{"KB", 1e3},      Unit{"MB", 1e6},         Unit{"GB", 1e9},
    Unit{"TB", 1e12}, Unit{"KiB", 1024}, Unit{"MiB", 1048576}, Unit{"GiB", 1073741824}, Unit{"TiB", 1099511627776.0},
};

constexpr std::array kTimeUnits{
    Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}, Unit{"m", 60e9}, Unit{"h", 3600e9},
};

double parse_with_units(std::string_view text, std::span<const Unit> units, std::string_view expected) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number, std::chars_format::general);
    const auto refuse = [&] {
        return Error(ErrorKind::usage, fmt::format("'{}' is not {}", printable(text), expected));
    };
    if (problem != std::errc{} || !std::isfinite(number) || number < 0) throw refuse();
    std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
    while (suffix.starts_with(' ')) suffix.remove_prefix(1);
    for (const Unit& unit : units) {
        if (unit.name == suffix) return number * unit.factor;
    }
    if (suffix.empty() && number == 0) return 0;
    throw refuse();
}

// `value` with three significant digits and no exponent: 1.25, 12.5, 125.
std::string three_digits(double value) {
    const double magnitude = std::fabs(value);
    if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
    if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
    return fmt::format("{:.2f}", value);
}

std::string scaled(double value, std::span<const std::string_view> names, double step) {
    std::size_t i = 0;
    while (i + 1 < names.size() && std::fabs(value) >= step * 0.9995) {
        value /= step;
        ++i;
    }
    if (i == 0) return fmt::format("{:.0f} {}", value, names[0]);
    return three_digits(value) + " " + std::string(names[i]);
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
    const double bytes = parse_with_units(text, kSizeUnits, "a size such as 64KiB, 1.5MB or 4096");
    // 2^63: file offsets are signed.
    if (bytes >= 9223372036854775808.0) {
        throw Error(ErrorKind::usage, fmt::format("'{}' is larger than any file can be", printable(text)));
    }
    return static_cast<std::uint64_t>(std::llround(bytes));
}

Nanoseconds parse_time(std::string_view text) {
    const double ns = parse_with_units(text, kTimeUnits, "a time with its unit, such as 375us, 1.5ms or 90s");
    if (ns >= 9.2e18) {
        throw Error(ErrorKind::usage, fmt::format("'{}' is longer than 292 years", printable(text)));
    }
    return std::llround(ns);
}

double parse_rate(std::string_view text) {
    std::string_view size = text;
    if (size.ends_with("/s")) size.remove_suffix(2);
    try {
        // The first entry is the size without a unit.
        return parse_with_units(size, std::span(kSizeUnits).subspan(1), "");
    } catch (const Error&) {
        throw Error(ErrorKind::usage, fmt::format("'{}' is not a rate with its unit, such as 25GB/s", printable(text)));
    }
}

std::string format_size(double bytes) {
    static constexpr std::array<std::string_view, 5> names{"B", "KB", "MB", "GB", "TB"};
    return scaled(bytes, names, 1000);
}

std::string format_rate(double bytes_per_second) {
    return format_size(bytes_per_second) + "/s";
}

std::string format_time(Nanoseconds ns) {
    const auto value = static_cast<double>(ns);
    const double magnitude = std::fabs(value);
    if (magnitude < 999.5) return fmt::format("{} ns", ns);
    if (magnitude < 999.5e3) return three_digits(value / 1e3) + " us";
    if (magnitude < 999.5e6) return three_digits(value / 1e6) + " ms";
    if (magnitude < 120e9) return three_digits(value / 1e9) + " s";
    const auto seconds = static_cast<std::int64_t>(std::llround(value / 1e9));
    if (seconds < 7200) return fmt::format("{} m {:02} s", seconds / 60, seconds % 60);
    return fmt::format("{} h {:02} m", seconds / 3600, seconds % 3600 / 60);
}

std::string format_left(Nanoseconds elapsed, double done) {
    if (done <= 0 || done >= 1 || elapsed <= 0) return {};
    const Nanoseconds left = std::llround(static_cast<double>(elapsed) * (1 - done) / done);
    return left < kNanosecondsPerSecond ? "less than 1 s left" : format_time(left) + " left";
}

std::string format_count(double count) {
    if (std::fabs(count) >= 1e7) {
        static constexpr std::array<std::string_view, 4> names{"", "k", "M", "G"};
        return scaled(count, names, 1000);
    }
    std::string digits = fmt::format("{:.0f}", count);
    const std::size_t first = digits.starts_with('-') ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

std::string format_per_second(double rate) {
    return rate < 100 ? fmt::format("{:.3g}", rate) : format_count(rate);
}

std::string format_counted(std::uint64_t count, std::string_view noun) {
    std::string text = format_count(static_cast<double>(count)) + " ";
    if (count == 1) return text.append(noun);
    if (noun.ends_with("ry")) return text.append(noun.substr(0, noun.size() - 1)).append("ies");
    text.append(noun);
    return text + (noun.ends_with('s') || noun.ends_with("ch") ? "es" : "s");
}

std::string format_percent(double fraction) {
    const double percent = fraction * 100;
    std::string text = fmt::format("{:.1f} %", percent);
    if (fraction != 0 && (text == "0.0 %" || text == "-0.0 %")) return fraction > 0 ? "<0.1 %" : ">-0.1 %";
    if (fraction < 1 && text == "100.0 %") return ">99.9 %";
    return text;
}

}  // namespace feedline
