// Rows of a dataset read by the library: numbers, texts, lengths.
//
// All functions are called with LibraryLock held.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loaders/hdf5/file.h"

namespace feedline::hdf5 {

// More rows than the file could hold, each with something of its own, or rows that no compression could have come from,
// are a damaged header. Throws Error{corrupt}; after it, memory by the number of rows is memory by the file's size.
void check_size(const File& file, const DatasetDescription& description);

// All elements as integers, row after row. Throws Error{corrupt}; none where they are fractions or no numbers.
std::optional<std::vector<std::int64_t>> read_integers(const File& file, const DatasetDescription& description);

// Calls `on_text` for each row of a list of texts, of fixed or variable length; false where the dataset is none.
// Throws Error{corrupt}.
bool for_each_text(const File& file, const DatasetDescription& description,
                   const std::function<void(std::string_view)>& on_text);

// Bytes of each row of a dataset of variable length. Throws Error{corrupt}.
std::vector<std::uint64_t> read_lengths(const File& file, const DatasetDescription& description);

// The bytes [begin, end) of a run of bytes. Throws Error{corrupt}.
std::string read_run(const File& file, const DatasetDescription& description, std::uint64_t begin, std::uint64_t end);

// An attribute that is a list of texts, of the dataset `name` or of the file's root ("/"); empty: there is none. Throws
// Error{corrupt}.
std::vector<std::string> read_text_attribute(const File& file, const std::string& name, const char* attribute);
// The same for integers.
std::vector<std::int64_t> read_integer_attribute(const File& file, const std::string& name, const char* attribute);

}  // namespace feedline::hdf5
