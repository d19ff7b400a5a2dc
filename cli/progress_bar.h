// How far writing has come, on one line of a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace feedline {

// "[##########          ]  25,000 of 50,000 files  2.87 GB  412 MB/s  12 s left"; `noun` is given for one.
std::string progress_bar(std::uint64_t done, std::uint64_t all, std::string_view noun, std::uint64_t bytes,
                         Nanoseconds elapsed_ns);

}  // namespace feedline
