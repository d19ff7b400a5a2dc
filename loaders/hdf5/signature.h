// Whether a file is HDF5, by its content alone. Needs no library.
#pragma once

#include <string>

namespace feedline::hdf5 {

// The signature stands at the beginning, or behind a user block of 512, 1024, 2048, ... bytes (HDF5 File Format
// Specification, "Disk Format: Level 0A"). False for what cannot be read. Thread-safe.
bool has_signature(const std::string& path);

}  // namespace feedline::hdf5
