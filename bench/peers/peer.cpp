#include "bench/peers/peer.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <thread>

namespace feedline::peers {

namespace {

constexpr std::size_t kRun = 8;  // files a thread takes at once: one atomic operation for all of them

[[noreturn]] void usage(const std::string& what) {
    fmt::print(stderr,
               "{}\nusage: FOLDER [--threads N] [--epochs N] [--slab-bytes N] [--seed N] [--open path|openat] "
               "[--size known|eof]\n",
               what);
    std::exit(2);
}

std::uint64_t parse_number(std::string_view option, std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || value == 0) {
        usage(fmt::format("{} takes a positive number, not '{}'", option, text));
    }
    return value;
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void fail(const std::string& what, const std::string& path, int error_number) {
    fmt::print(stderr, "{}: {}: {}\n", what, path, std::strerror(error_number));
    std::exit(5);
}

Arguments parse_arguments(int argc, char** argv) {
    Arguments result;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (!option.starts_with("--")) {
            result.folder = option;
            continue;
        }
        if (++i == argc) usage(fmt::format("{} needs a value", option));
        const std::string_view value = argv[i];
        if (option == "--threads") {
            result.threads = static_cast<unsigned>(parse_number(option, value));
        } else if (option == "--epochs") {
            result.epochs = static_cast<unsigned>(parse_number(option, value));
        } else if (option == "--slab-bytes") {
            result.slab_bytes = parse_number(option, value);
        } else if (option == "--seed") {
            result.seed = parse_number(option, value);
        } else if (option == "--open" && (value == "path" || value == "openat")) {
            result.open = value;
        } else if (option == "--size" && (value == "known" || value == "eof")) {
            result.size = value;
        } else {
            usage(fmt::format("unknown option or value: {} {}", option, value));
        }
    }
    if (result.folder.empty()) usage("which folder?");
    return result;
}

FileList list_files(const std::string& folder, std::uint64_t seed) {
    FileList list;
    std::map<std::string, std::size_t> directories;
    std::error_code problem;
    for (auto entry = std::filesystem::recursive_directory_iterator(folder, problem);
         !problem && entry != std::filesystem::recursive_directory_iterator(); entry.increment(problem)) {
        struct stat status {};
        const std::string path = entry->path().string();
        if (lstat(path.c_str(), &status) != 0) fail("cannot stat", path, errno);
        if (!S_ISREG(status.st_mode)) continue;
        const std::string parent = entry->path().parent_path().string();
        const auto [found, is_new] = directories.try_emplace(parent, list.directories.size());
        if (is_new) list.directories.push_back(parent);
        const auto bytes = static_cast<std::uint64_t>(status.st_size);
        list.files.push_back({path, entry->path().filename().string(), found->second, bytes});
        list.total_bytes += bytes;
        list.max_bytes = std::max(list.max_bytes, bytes);
    }
    if (problem) fail("cannot list", folder, problem.value());
    if (list.files.empty()) fail("no files in", folder, ENOENT);
    std::sort(list.files.begin(), list.files.end(), [](const File& a, const File& b) { return a.path < b.path; });
    std::mt19937_64 random(seed);
    std::shuffle(list.files.begin(), list.files.end(), random);
    return list;
}

std::byte* make_slab(std::uint64_t bytes) {
    constexpr std::uint64_t kHugePage = 2U << 20U;
    const std::uint64_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = mmap(nullptr, rounded + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("cannot map", fmt::format("{} bytes", rounded), errno);
    std::size_t space = rounded + kHugePage;
    auto* start = static_cast<std::byte*>(std::align(kHugePage, rounded, memory, space));
    madvise(start, rounded, MADV_HUGEPAGE);  // refused on some kernels; then small pages serve
    std::memset(start, 1, rounded);
    return start;
}

void run_and_report(const Arguments& arguments, const FileList& list, const Work& work) {
    double seconds = 0;
    double cpu = 0;
    for (unsigned epoch = 0; epoch < arguments.epochs; ++epoch) {
        std::atomic<std::size_t> next{0};
        const double cpu_before = cpu_seconds();
        const auto start = std::chrono::steady_clock::now();
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < arguments.threads; ++t) {
            threads.emplace_back([&, t] {
                for (std::size_t first = next.fetch_add(kRun); first < list.files.size();
                     first = next.fetch_add(kRun)) {
                    const std::size_t last = std::min(first + kRun, list.files.size());
                    for (std::size_t index = first; index < last; ++index) work(t, index);
                }
            });
        }
        for (auto& thread : threads) thread.join();
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        cpu = cpu_seconds() - cpu_before;
    }
    const auto files = static_cast<double>(list.files.size());
    const auto bytes = static_cast<double>(list.total_bytes);
    fmt::print(
        "{{\"files_per_second\": {}, \"bytes_per_second\": {}, \"seconds\": {}, \"files\": {}, \"bytes\": {}, "
        "\"cpu_seconds\": {}, \"cpu_seconds_per_gb\": {}}}\n",
        files / seconds, bytes / seconds, seconds, list.files.size(), list.total_bytes, cpu, cpu / (bytes * 1e-9));
}

}  // namespace feedline::peers
