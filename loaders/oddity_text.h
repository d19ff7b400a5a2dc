// An oddity as a person reads it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "core/units.h"
#include "loaders/dataset.h"

namespace feedline {

// "3 x missing shard, such as train-00002-of-00008": kinds are nouns without a number of their own.
inline std::string to_text(const Oddity& oddity) {
    std::string text = fmt::format("{} x {}", format_count(static_cast<double>(oddity.count)), oddity.kind);
    if (!oddity.example.empty()) text += (oddity.count == 1 ? ": " : ", such as ") + printable(oddity.example);
    return text;
}

}  // namespace feedline
