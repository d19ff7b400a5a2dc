// Whether a dataset fits, asked before the first byte is written.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/interrupt.h"
#include "packers/generate/layout.h"
#include "packers/generate/sizes.h"

namespace feedline {

// Throws Error{out_of_space} naming what is needed and what there is when the filesystem that `path` is on has too
// few free blocks or inodes for the dataset; Error{interrupted}. Needs are counted file by file in whole blocks.
void require_space(const std::string& path, const DatasetLayout& layout, const SizeModel& sizes,
                   const Interrupt& interrupt);

}  // namespace feedline
