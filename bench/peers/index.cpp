// Feedline's side of the comparison with find: opens a folder as a dataset, says how long and how much memory it took.
#include <fmt/core.h>
#include <sys/resource.h>

#include <fstream>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "loaders/dataset.h"

namespace {

// Anonymous memory of this process, from the kernel's own count; 0 where it does not tell.
std::uint64_t anonymous_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
    }
    return 0;
}

std::uint64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
        return 2;
    }
    try {
        const std::uint64_t before = anonymous_bytes();
        const feedline::Nanoseconds start = feedline::now_ns();
        const auto dataset = feedline::open_dataset(argv[1], "files", {});
        const double seconds = feedline::to_seconds(feedline::now_ns() - start);
        const auto files = static_cast<double>(dataset->size());
        fmt::print(
            "{{\"seconds\": {}, \"files\": {}, \"files_per_second\": {}, \"bytes\": {}, \"anonymous_bytes_before\": "
            "{}, "
            "\"anonymous_bytes\": {}, \"peak_rss_bytes\": {}}}\n",
            seconds, dataset->size(), files / seconds, dataset->info().bytes, before, anonymous_bytes(),
            peak_rss_bytes());
    } catch (const feedline::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return feedline::exit_code(error.kind());
    }
    return 0;
}
