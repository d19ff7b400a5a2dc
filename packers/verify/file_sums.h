// The files of a packed dataset against the checksums in its manifest.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/interrupt.h"
#include "loaders/packed/manifest.h"
#include "packers/verify/findings.h"

namespace feedline {

// A file that the manifest names, and what it should be.
struct ExpectedFile {
    std::string path;
    std::uint32_t crc32c = 0;
    std::optional<std::uint64_t> bytes;
    std::size_t shard = 0;
};

// Of the dataset in `directory`; a shard that is a directory has its data in a file in it.
std::vector<ExpectedFile> expected_files(const std::string& directory, const Manifest& manifest);

// Reads `file` and adds what is wrong with it; returns whether all is well. `bytes_read` counts on while it reads.
// Throws Error{interrupted}.
bool check_file(const ExpectedFile& file, Findings& findings, std::atomic<std::uint64_t>& bytes_read,
                const Interrupt& interrupt);

}  // namespace feedline
