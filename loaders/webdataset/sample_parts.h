// The parts of one sample, in the run of members that was read as its record.
//
// Thread-safety: pure functions. Views are valid as long as the record is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace feedline::webdataset {

struct Part {
    std::string name;  // the extension: "jpg", "cls"
    std::span<const std::byte> bytes;
};

struct Parts {
    std::vector<Part> parts;
    std::string problem;  // what is wrong with the record; empty: nothing
};

// A member of another sample, a header that is no longer one and a part that is there twice are problems.
Parts parts_of(std::span<const std::byte> record);

// What a training job would decode: the first part that is no annotation, else the first. Empty where there is none.
std::span<const std::byte> payload_of(const Parts& parts);

}  // namespace feedline::webdataset
