// Published training workloads: how large a record is, how many make a batch, how long the accelerator computes on one.
//
// A preset emulates bytes and times, not the file format the workload was published with, and not one machine: compute
// times vary by kernel and clock. Thread-safe: constants.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace feedline {

struct Preset {
    std::string_view name;         // "<model>-<accelerator>", lower case: "resnet50-h100"
    std::string_view model;        // "resnet50"
    std::string_view accelerator;  // "h100"
    std::uint64_t record_bytes;    // mean length of a record
    std::uint64_t record_stddev_bytes;
    std::uint64_t samples_per_file;
    std::uint64_t files;
    std::string_view published_format;   // "npz", "TFRecord", ...
    std::uint32_t reader_threads;        // as published
    std::uint64_t batch_size;            // samples a step and accelerator
    Nanoseconds step_ns;                 // compute time of one step
    std::optional<double> au_threshold;  // utilization that MLPerf Storage asks for; absent where it asks for none
    std::uint32_t epochs;                // as published
    bool shuffled;                       // samples shuffled by seed, as published
    std::string_view source;             // URL of the configuration file
    std::string_view source_date;        // ISO date (to the day or the month) at which the source had these values

    std::uint64_t samples() const { return samples_per_file * files; }
    double samples_per_second() const;  // what one accelerator consumes when it never waits
    double bytes_per_second() const;
};

// All of them, by model, then by accelerator.
std::span<const Preset> presets();

// Throws Error{usage} with the names that come near, and all that are known.
const Preset& find_preset(std::string_view name);

}  // namespace feedline
