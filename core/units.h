// Sizes, times, rates and counts as people write and read them.
//
// Parsing throws Error{usage} with one line that says what was expected. Sizes take B, KB MB GB TB (1000) and KiB MiB
// GiB TiB (1024); times take ns us ms s m h. A size without a unit is bytes; times and rates need theirs, but for 0:
// nobody can tell what 90 was meant to be. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace feedline {

std::uint64_t parse_size(std::string_view text);  // bytes
Nanoseconds parse_time(std::string_view text);    // nanoseconds; 0 allowed, negative refused
double parse_rate(std::string_view text);         // bytes a second: "25GB/s", "25GB"

std::string format_size(double bytes);             // "1.25 GB" (1000), "761 B"
std::string format_rate(double bytes_per_second);  // "1.25 GB/s"
std::string format_time(Nanoseconds ns);           // "375 us", "1.36 s"; three significant digits
std::string format_left(Nanoseconds elapsed,
                        double done);        // "12.0 s left", at the speed so far; "" when unknown or over
std::string format_per_second(double rate);  // a count a second without its noun: "0.432", "17.3", "20,116"
std::string format_count(double count);      // "1,281,167"; three significant digits and k/M/G above 10 million
// A count with its noun, which is given for one: "1 step", "2 batches", "1,000 entries".
std::string format_counted(std::uint64_t count, std::string_view noun);
std::string format_percent(double fraction);  // "99.8 %"; never "100.0 %" or "0.0 %" for what is not exactly that

}  // namespace feedline
