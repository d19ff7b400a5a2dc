#include "cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace feedline {

std::string progress_bar(std::uint64_t done, std::uint64_t all, std::string_view noun, std::uint64_t bytes,
                         Nanoseconds elapsed_ns) {
    constexpr int kBarColumns = 30;
    const double share = all > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(all)) : 0;
    const double seconds = to_seconds(elapsed_ns);
    const std::string bar(static_cast<std::size_t>(std::lround(share * kBarColumns)), '#');
    std::string line = fmt::format("[{:<{}}]  {} of {}  {}", bar, kBarColumns, format_count(static_cast<double>(done)),
                                   format_counted(all, noun), format_size(static_cast<double>(bytes)));
    if (seconds > 0) line += "  " + format_rate(static_cast<double>(bytes) / seconds);
    // All are written: what remains is the flush.
    const std::string left = share >= 1 ? "finishing" : format_left(elapsed_ns, share);
    return left.empty() ? line : line + "  " + left;
}

}  // namespace feedline
