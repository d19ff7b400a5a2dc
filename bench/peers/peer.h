// What the yardsticks share: the list of files, the slab, the shuffled order, the clock, the line of JSON.
//
// A peer reads (or copies) every file of a folder once an epoch, in shuffled order, from T threads, into a slab of huge
// pages, as a training loader would; the last epoch is reported. Nothing of Feedline's own reading is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace feedline::peers {

struct File {
    std::string path;
    std::string name;           // within its directory
    std::size_t directory = 0;  // index into FileList::directories
    std::uint64_t bytes = 0;
};

struct FileList {
    std::vector<std::string> directories;
    std::vector<File> files;  // in shuffled order
    std::uint64_t total_bytes = 0;
    std::uint64_t max_bytes = 0;
};

struct Arguments {
    std::string folder;
    unsigned threads = 2;
    unsigned epochs = 3;
    std::uint64_t slab_bytes = 256U << 20U;
    std::uint64_t seed = 1;
    std::string open = "openat";  // path | openat
    std::string size = "known";   // known | eof
};

// Ends the process with one line and code 2 for a wrong option.
Arguments parse_arguments(int argc, char** argv);

FileList list_files(const std::string& folder, std::uint64_t seed);

// Memory on huge pages, faulted in; lives until the process ends.
std::byte* make_slab(std::uint64_t bytes);

// Hands files [0, files) out to the threads in small runs, in order. work(thread, index).
using Work = std::function<void(unsigned thread, std::size_t index)>;

// Runs the epochs and prints, for the last: files_per_second, bytes_per_second, seconds, files, bytes, cpu_seconds,
// cpu_seconds_per_gb.
void run_and_report(const Arguments& arguments, const FileList& list, const Work& work);

// One line on standard error, then exit code 5.
[[noreturn]] void fail(const std::string& what, const std::string& path, int error_number);

}  // namespace feedline::peers
