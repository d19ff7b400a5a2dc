// A Caffe Datum around bytes that come later (field numbers: loaders/lmdb/datum.h).
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "packers/packer.h"

namespace feedline::lmdb {

// What stands before and behind the content: data (field 4), label (field 5, where it is a number of 32 bits), encoded
// (field 7).
std::vector<std::string> datum_around(const SampleHead& head);

}  // namespace feedline::lmdb
