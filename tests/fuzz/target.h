// What every fuzz target defines, and what targets share. See README.md.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "core/fd.h"
#include "loaders/dataset.h"

namespace feedline {

// Takes `input` as what the target reads. Returns where the answer was an error or an answer; a crash, a hang, memory
// without bound or an exception that leaves it is a finding. Called again and again in one process.
void fuzz_one(std::span<const std::byte> input);

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

// Every key, label and part of every sample, read by the format's own reader and, where there are extents, in place.
// Stops after many samples or bytes: the input may say that the same byte is a sample again and again.
void read_everything(const Dataset& dataset);

}  // namespace feedline
