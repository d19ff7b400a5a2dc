// What every fuzz target defines, and what targets share. See README.md.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/fd.h"
#include "loaders/dataset.h"

namespace feedline {

// Takes `input` as what the target reads. Returns where the answer was an error or an answer; a crash, a hang, memory
// without bound or an exception that leaves it is a finding. Called again and again in one process.
void fuzz_one(std::span<const std::byte> input);

// A finding, in words: libFuzzer and GoogleTest both see a process that aborts.
[[noreturn]] void report(std::string_view what);

// A file in memory that has a path.
class MemoryFile {
public:
    explicit MemoryFile(std::span<const std::byte> content);
    const std::string& path() const { return path_; }

private:
    Fd fd_;
    std::string path_;
};

// Calls `work` and takes an Error for an answer, unless it is internal.
void expect_answer_or_error(const std::function<void()>& work);

// How a dataset is asked for its bytes. Of a format whose own library trusts the file: by extents alone.
enum class ReadBy { reader_and_extents, extents };

// Every key, label and part of every sample, read by the format's own reader and, where there are extents, in place:
// both must agree. Stops after many samples or bytes, for the input may say that the same byte is a sample again and
// again.
void read_everything(const Dataset& dataset, ReadBy by = ReadBy::reader_and_extents);

// Takes `input` as a dataset of one file: probed, opened and read, once to the end and once over what is broken.
void fuzz_format(const Format& format, std::span<const std::byte> input, ReadBy by = ReadBy::reader_and_extents);

}  // namespace feedline
