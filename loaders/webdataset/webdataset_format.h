// WebDataset: tar archives whose members make samples by their names. See README.md.
#pragma once

#include "loaders/dataset.h"

namespace feedline {

class WebdatasetFormat final : public Format {
public:
    std::string_view name() const override { return "webdataset"; }
    Confidence probe(const std::string& path) const override;
    std::unique_ptr<Dataset> open(const std::string& path, const OpenOptions& options) const override;
};

}  // namespace feedline
