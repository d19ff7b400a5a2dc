// Where the rows of a dataset lie in their file, if they lie there as they are.
//
// All functions are called with LibraryLock held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loaders/hdf5/file.h"

namespace feedline::hdf5 {

// File offsets of all rows, user block included, each of row_bytes() bytes; or why they do not lie in plain.
struct PlainRows {
    std::vector<std::uint64_t> offsets;
    std::string obstacle;  // empty: there is none
};

// Throws Error{corrupt} for what would lie beyond the file's end.
PlainRows plain_rows(const File& file, hid_t dataset, const DatasetDescription& description);

// Of a reference to an element of variable length: a length, the address of a heap and a number in it (HDF5 File Format
// Specification, "Global Heap ID").
inline std::uint64_t reference_bytes(const File& file) {
    return 4 + file.address_bytes + 4;
}

// Where the references of a dataset of variable length lie; as above.
PlainRows plain_references(const File& file, hid_t dataset, const DatasetDescription& description);

// Where the reference in `row` lies; none where those do not lie in plain.
std::optional<std::uint64_t> plain_reference(const File& file, hid_t dataset, const DatasetDescription& description,
                                             std::uint64_t row);

// What is wrong with the chunks that `row` lies in: one that is not compressed and has another size than its shape
// says, which the library would read past its own buffer for. Empty: nothing.
std::string chunk_problem(hid_t dataset, const DatasetDescription& description, std::uint64_t row);

// Where the dataset begins, if all of it is one run of bytes; obstacle as above, else one offset.
PlainRows plain_run(const File& file, hid_t dataset, const DatasetDescription& description);

}  // namespace feedline::hdf5
