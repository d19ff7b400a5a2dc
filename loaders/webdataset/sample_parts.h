// The parts of one sample, in the run of members that was read as its record.
//
// Thread-safety: pure functions. Views are valid as long as the record is.
#pragma once

#include <cstddef>
#include <span>

#include "loaders/dataset.h"

namespace feedline::webdataset {

// Every member is a part: first the one that is trained on, which is the first that is no annotation (else the first),
// then the others as they stand. The label is what the part `cls` says, the path what the name of the first part's
// member tells. A member of another sample, a header that is no longer one and a part that is there twice are problems;
// the parts before are there.
SampleViews views_of(std::span<const std::byte> record);

}  // namespace feedline::webdataset
