// An HDF5 file opened for reading, and the datasets in it.
//
// All functions are called with LibraryLock held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loaders/hdf5/library.h"

namespace feedline::hdf5 {

struct File {
    Id id;
    std::string path;
    std::uint64_t size_bytes = 0;
    std::uint64_t userblock_bytes = 0;
    std::uint32_t address_bytes = 8;  // of an address in this file: 2 to 16, as its writer chose
    std::uint32_t length_bytes = 8;   // of a length, likewise
};

// Throws Error{io} for what cannot be opened, Error{changed} for what another process is writing, Error{corrupt}.
File open_file(const std::string& path);

// What one element of a dataset is to us.
enum class Element {
    plain,       // bytes of a fixed size, as they lie in the file
    big_endian,  // numbers that the library turns around while reading
    sequence,    // of variable length
    text,        // of variable length
    unsupported,
};

enum class Storage { contiguous, chunked, compact, external, virtual_sources };

struct Filter {
    H5Z_filter_t number = 0;
    std::string name;
    bool available = true;  // in this libhdf5 or by a plugin that it finds
};

struct DatasetDescription {
    std::string name;  // its path from the root, as in "/images"; raw bytes
    std::string type;  // "uint8", "vlen uint8", "text", "compound"
    Element element = Element::unsupported;
    H5T_class_t type_class = H5T_NO_CLASS;
    std::uint64_t element_bytes = 0;  // of a sequence: of one of its elements
    bool empty = false;               // a null dataspace
    std::vector<std::uint64_t> dims;  // none: one value
    Storage storage = Storage::contiguous;
    std::uint64_t stored_bytes = 0;  // in the file, compressed or not
    std::vector<std::uint64_t> chunk;
    bool oversized_chunks = false;  // larger than the dataset may ever be, which no writer makes
    std::vector<Filter> filters;

    std::uint64_t rows() const { return empty ? 0 : dims.empty() ? 1 : dims.front(); }
    // Elements in a row; none where that is more than 64 bits hold.
    std::optional<std::uint64_t> row_elements() const;
    // Of a row; none where that is more than 64 bits hold. 0 for what is of variable length.
    std::optional<std::uint64_t> row_bytes() const;
    bool variable() const { return element == Element::sequence || element == Element::text; }
    // Why no sample can be read from it; empty: they can.
    std::string refusal() const;
    // The filter that is missing, with what to do; empty: none is.
    std::string missing_filter() const;
    // The Debian package that has it; empty: none has.
    std::string_view missing_package() const;
    // "/images uint8 [60000,32,32,3] chunked, gzip"
    std::string line() const;
};

struct Contents {
    std::vector<DatasetDescription> datasets;  // by name, bytewise
    std::vector<std::string> external_links;   // they lead to other files, and are not followed
    std::vector<std::string> soft_links;
};

// Every dataset that is reached from the root without leaving the file, each once. Throws Error{corrupt}.
Contents list_datasets(const File& file);

// Throws Error{corrupt}.
DatasetDescription describe(const File& file, const std::string& name);
Id open_dataset(const File& file, const std::string& name);

// The type to ask the library for: as the file has it, but with the byte order of this machine.
Id memory_type(const File& file, hid_t dataset, const DatasetDescription& description);

// Error{corrupt} with what the library said, and the file's name.
[[noreturn]] void fail(const File& file, const std::string& what);

}  // namespace feedline::hdf5
