// What kind of quantity a figure of the result is, by its name there, and how people write and read one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace feedline {

enum class Quantity { number, share, nanoseconds, seconds, bytes, bytes_per_second };

// `path` is dotted, into an entry of `epochs` or into a result: "latency_ns.read.p99", "config.step_time".
Quantity quantity_of(std::string_view path);

// A plain number in the unit that the JSON has, or one with a unit of its kind: 5% of a share, 5ms of a time. nullopt:
// neither.
std::optional<double> parse_quantity(Quantity quantity, std::string_view text);

// What may be written: "a time such as 5ms, or a number of seconds".
std::string_view how_to_write(Quantity quantity);

// As it stands in the JSON, and where that has a unit, as people read it: "9e+06 (9.00 ms)", "0.25 (25.0 %)".
std::string show_quantity(Quantity quantity, double value);

}  // namespace feedline
