// TFRecord shards. See README.md for what is recognised and how records are found.
#pragma once

#include "loaders/dataset.h"

namespace feedline {

class TfrecordFormat final : public Format {
public:
    std::string_view name() const override { return "tfrecord"; }
    Confidence probe(const std::string& path) const override;
    std::unique_ptr<Dataset> open(const std::string& path, const OpenOptions& options) const override;
};

}  // namespace feedline
