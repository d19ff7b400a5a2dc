// PyTorch's .pth and .pt files. See README.md.
#pragma once

#include "loaders/dataset.h"

namespace feedline {

class PthFormat final : public Format {
public:
    std::string_view name() const override { return "pth"; }
    Confidence probe(const std::string& path) const override;
    std::unique_ptr<Dataset> open(const std::string& path, const OpenOptions& options) const override;
};

}  // namespace feedline
