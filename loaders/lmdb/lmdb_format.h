// LMDB: a directory with data.mdb, or the file itself. See README.md.
#pragma once

#include "loaders/dataset.h"

namespace feedline {

class LmdbFormat final : public Format {
public:
    std::string_view name() const override { return "lmdb"; }
    Confidence probe(const std::string& path) const override;
    std::unique_ptr<Dataset> open(const std::string& path, const OpenOptions& options) const override;
};

}  // namespace feedline
