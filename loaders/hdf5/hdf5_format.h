// HDF5 files whose datasets hold samples along their first axis. See README.md.
#pragma once

#include "loaders/dataset.h"

namespace feedline {

class Hdf5Format final : public Format {
public:
    std::string_view name() const override { return "hdf5"; }
    Confidence probe(const std::string& path) const override;
    // Without libhdf5: Error{unsupported} that says so.
    std::unique_ptr<Dataset> open(const std::string& path, const OpenOptions& options) const override;
};

}  // namespace feedline
