// The files that a run writes: where they go, and what they must not be.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/options.h"
#include "bench/output_file.h"
#include "loaders/dataset.h"

namespace feedline {

struct Output {
    std::string asked_by;  // the option or variable that named it
    std::string path;
    bool json = false;
};

// Those that were asked for.
std::vector<Output> outputs_of(const BenchOptions& options);

// What can be refused before anything is read: a place that cannot be written to, before hours of measuring are lost on
// it; two outputs that are the same file by whatever spelling; a place inside a dataset that is to be measured. Creates
// nothing. Throws Error{usage}.
void check_outputs(std::span<const Output> outputs, std::span<const DatasetArgument> datasets);

// An output that is one of the files of this dataset, wherever the dataset's links lead. Throws Error{usage}.
void check_outputs_against(std::span<const Output> outputs, const Dataset& dataset);

// Makes sure of each, for the end of the run. Throws Error{usage}: see OutputFile.
std::vector<OutputFile> open_outputs(std::span<const Output> outputs);

}  // namespace feedline
