// A tf.train.Example around bytes that come later (field numbers: loaders/tfrecord/example.h).
//
// Features stand in the order of their names and are written as TensorFlow writes them, packed, so that the same sample
// gives the same bytes. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packers/packer.h"

namespace feedline::tfrecord {

struct ExampleGlue {
    std::vector<std::string> glue;  // glue[i] before part i, the last behind all
    std::uint64_t bytes = 0;        // of the whole Example, parts included
};

// image/class/label (the label, all numbers of a list), image/class/text (its name, or the label that is text),
// image/encoded (the first part), image/filename (the path), image/format (the first part's name, jpg as "jpeg"), and
// part/NAME for each further part.
ExampleGlue example_around(const SampleHead& head);

}  // namespace feedline::tfrecord
