// The files format: a directory tree of regular files, each file a sample. See README.md for what becomes of
// everything else that a tree may hold.
#pragma once

#include "loaders/dataset.h"

namespace feedline {

class FilesFormat final : public Format {
public:
    std::string_view name() const override { return "files"; }
    Confidence probe(const std::string& path) const override;
    std::unique_ptr<Dataset> open(const std::string& path, const OpenOptions& options) const override;
};

}  // namespace feedline
