// Is a packed dataset what was written, and what it was written from?
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/interrupt.h"

namespace feedline {

struct VerifyOptions {
    std::string format = "auto";
    std::string against{};  // the source, to be compared byte for byte; empty: none
    std::string against_format = "auto";
    std::string against_hdf5_dataset{};  // of an HDF5 source; empty: found
    unsigned threads = 0;                // 0: as many as cores
};

// One thing that is not as it should be.
struct Finding {
    std::string what;
    std::string path;                           // of the file
    std::optional<std::uint64_t> offset_bytes;  // in it
    std::string sample;                         // its key; empty: it is of none
};

// "WHAT: PATH at offset N, sample KEY", on one line.
std::string to_text(const Finding& finding);

struct VerifyProgress {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_in_all = 0;
};

struct VerifyResult {
    std::string format;
    std::uint64_t shards = 0;
    std::uint64_t samples = 0;  // that are in the dataset, as far as it can be read
    std::uint64_t bytes = 0;
    bool has_manifest = false;       // so every byte of every file was compared with a checksum
    bool has_checksums = false;      // of samples, in a manifest or in the format itself
    std::uint64_t compared = 0;      // samples, with the source
    bool labels_compared = false;    // with them; not where the packer was told to give other labels
    std::vector<std::string> notes;  // what opening the dataset showed beside: "2 x missing shard, such as ..."
    std::uint64_t left_out = 0;      // by the packer, which said so
    std::uint64_t found = 0;
    std::vector<Finding> findings;  // the first 1000, by file and offset
};

// Reads everything. With a manifest all files are compared with their checksums, and where one does not match the
// samples are read to find those that are damaged. Without one, what the format itself says is checked: framing,
// lengths, checksums where it has them. Throws Error{usage, io} for what cannot be judged at all, {interrupted}.
VerifyResult verify(const std::string& path, const VerifyOptions& options,
                    const std::function<void(const VerifyProgress&)>& progress, const Interrupt& interrupt);

}  // namespace feedline
